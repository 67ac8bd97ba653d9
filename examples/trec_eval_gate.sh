#!/bin/sh
# An evaluation script as there are many: mean average precision and nDCG of each run, one line each. It ran trec_eval;
# one word was changed, and nothing that reads its output has to know. The gate's lines follow trec_eval's own.
#
#   trec_eval_gate.sh QRELS RUN...          EVAL=trec_eval ./trec_eval_gate.sh ... is the script as it was.
set -u
EVAL=${EVAL:-"falsify-adapters gate --format trec_eval"}
qrels=$1
shift
worst=0
for run in "$@"; do
    status=0
    lines=$($EVAL -m map -m ndcg_cut.10 "$qrels" "$run") || status=$?
    case $status in # 1 is a FAIL, 3 an UNDER-NS, and no reason to stop
        0) ;;
        1) worst=1 ;;
        3) test "$worst" -eq 1 || worst=3 ;;
        *) exit "$status" ;;
    esac
    printf '%s\n' "$lines" | awk -F '\t' -v run="$run" '
        { gsub(/ +$/, "", $1); value[$1] = $3 }
        END {
            print run, "map", value["map"], value["gate_map"], "ndcg_cut_10", value["ndcg_cut_10"], value["gate_ndcg_cut_10"]
        }'
done
exit "$worst"
