/**
 * Judges what `record.mjs` has recorded: each credential that the product sent or wrote must be in the table of permitted places, and what clients of
 * tests received as well. `npm run test:canary` records and judges. Usage: node test/canary/judge.mjs FILE. Exit code 1: a finding is not permitted, or nothing was seen.
 */
import { readFileSync } from 'node:fs'

const [file] = process.argv.slice(2)
if (file === undefined) {
  console.error('Usage: node test/canary/judge.mjs FILE, where FILE is the CANARY_FILE of a run')
  process.exit(64)
}

/** Places by what is found there; a pattern for each member that matters. The reason stands beside it. */
const PERMITTED = [
  // clients of tests and commands show their credentials to the listeners, and to upstreams where a test sends one there itself
  { to: /^socket$/, by: /^(?:node$|test\/|bench\/|src\/app\/cli\/)/ },
  // so does the library that MCP clients of tests use, and the product does not
  { to: /^socket$/, by: /^src\/esm\/(?:shared\/transport|client\/streamableHttp)$/, request: / \/mcp$/ },
  // browsers of tests at the pages
  {
    to: /^socket$/,
    form: /^cookie$/,
    header: /^cookie$/,
    request: /^GET \/(?:console|connections|portal)\/$/,
  },
  // commands that are bundled, and console and portal for the signed-in user: at a gateway, whose token it is
  { to: /^socket$/, header: /^(?:authorization|x-api-key)$/, peer: /^gateway$/ },
  // shown once: the response to the request that created it
  { to: /^response$/, form: /^api key$/, request: /^(?:POST|PATCH|PUT) / },
  // responses of token endpoints, and of the front that forwards them
  { to: /^response$/, form: /^jwt$/, request: /\/token$|\/login|\/callback|\/register/ },
  { to: /^response$/, form: /^cookie$/, header: /^set-cookie$/ },
  // the specification: the event of an approval contains the key that it created
  { to: /^socket$/, form: /^api key$/, from: /undici/, request: /^POST / },
  // RFC 8693: only at the issuer, or where the operator allows it
  { to: /^socket$/, form: /^jwt$/, request: /^POST .*token$/, header: /^$/ },
  // the gateway itself at the API server of its cluster
  { to: /^socket$/, owner: /^system:serviceaccount:/, header: /^authorization$/, request: / \/apis?\// },
  // gateways and commands at their control plane, with a token for their client
  {
    to: /^socket$/,
    form: /^jwt$/,
    by: /^(?:src\/|undici)/,
    header: /^authorization$/,
    request: / \/v1\/|\/test\/clock/,
  },
  // the embedded provider keeps its grants in memory, tests and commands their own files
  { to: /^file$/, from: /^(?:node$|test\/|bench\/|src\/app\/cli\/)/ },
  // vitest keeps what it compiled of the tests
  { to: /^file$/, from: /cli-api/ },
]

/** Requests that only a gateway serves: where one was sent, a gateway listens. */
const OF_GATEWAYS = / \/(?:admin\/|mcp\/(?:v1\/tools|tools\/call|sse)$|t\/[\w-]+\/)|^GET \/ready$/
const findings = readFileSync(file, 'utf8')
  .split('\n')
  .filter(Boolean)
  .map(line => JSON.parse(line))
const gateways = new Set(
  findings.filter(({ to, request }) => to === 'socket' && OF_GATEWAYS.test(request)).map(({ port }) => port),
)

const MEMBERS = ['peer', 'form', 'owner', 'to', 'by', 'from', 'header', 'request', 'file']
const isPermitted = finding =>
  PERMITTED.some(place =>
    Object.entries(place).every(([member, pattern]) => pattern.test(finding[member] ?? '')),
  )

const seen = new Map()
for (const finding of findings) {
  if (finding.port !== undefined) finding.peer = gateways.has(finding.port) ? 'gateway' : 'other'
  // ids differ from run to run
  finding.request = finding.request?.replace(
    /[a-z]{2,4}_[0-9a-hjkmnp-tv-z]{26}|[0-9a-f]{8}-[0-9a-f-]{27}/g,
    '{id}',
  )
  const key = JSON.stringify(MEMBERS.map(member => finding[member] ?? ''))
  seen.set(key, { finding, count: (seen.get(key)?.count ?? 0) + 1 })
}
const all = [...seen.values()]
const wrong = all.filter(({ finding }) => !isPermitted(finding))
for (const { finding, count } of wrong) console.log(`${count} × ${JSON.stringify(finding)}`)
const total = all.reduce((sum, { count }) => sum + count, 0)
console.log(`${total} credentials seen at ${all.length} places, ${wrong.length} places are not permitted`)
process.exit(wrong.length > 0 || total === 0 ? 1 : 0)
