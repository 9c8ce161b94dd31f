#!/usr/bin/env bash
# Runs tests while record.mjs records where credentials go, and judges it. Usage: npm run test:canary -- [FILE…]; without files: e2e, contract, integration.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
(($# > 0)) || set -- test/e2e test/contract test/integration
mkdir -p reports
rm -f reports/canary.jsonl
tested=0
CANARY_FILE=$PWD/reports/canary.jsonl NODE_OPTIONS="--import=file://$PWD/test/canary/record.mjs" \
  npx --no-install vitest run "$@" --reporter=dot || tested=$?
node test/canary/judge.mjs reports/canary.jsonl
exit "$tested"
