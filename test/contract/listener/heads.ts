/**
 * Request heads and their outcome on each listener: compliance, smuggling, malformed, modelled on the categories of Http11Probe.
 * Where the listeners or the two builds of uWS differ, each outcome stands here. Data only.
 */

/**
 * - `runs`: the handler runs and its response is sent
 * - `closed`: the connection is closed without a response
 * - `silent`: no response; the connection times out (the native parser takes it for an unfinished head)
 * - a number: refused with this status, and closed
 */
export type Outcome = 'runs' | 'closed' | 'silent' | number

export interface HeadCase {
  readonly name: string
  readonly bytes: string
  readonly uws: Outcome
  /** For the newer build of uWS, where it differs. */
  readonly strictUws?: Outcome
  readonly node: Outcome
  /** Paths that the handler may see; ['/'] for `runs`, else none. */
  readonly ran?: readonly string[]
  readonly allowChunked?: boolean
}

const H = 'Host: a\r\n'
const get = (headers: string, line = 'GET / HTTP/1.1'): string => `${line}\r\n${headers}\r\n`
const post = (headers: string, body = ''): string => `POST / HTTP/1.1\r\n${H}${headers}\r\n${body}`
const EVIL = 'GET /evil HTTP/1.1\r\nHost: a\r\n\r\n'

export const COMPLIANCE: readonly HeadCase[] = [
  { name: 'plain GET', bytes: get(H), uws: 'runs', node: 'runs' },
  { name: 'host with port', bytes: get('Host: a.example:8080\r\n'), uws: 'runs', node: 'runs' },
  { name: 'IPv6 host', bytes: get('Host: [::1]:8080\r\n'), uws: 'runs', node: 'runs' },
  { name: 'header names in any case', bytes: get('HOST: a\r\nX-FOO: b\r\n'), uws: 'runs', node: 'runs' },
  { name: 'no space after the colon', bytes: get('Host:a\r\n'), uws: 'runs', node: 'runs' },
  { name: 'spaces and tabs around a value', bytes: get(`${H}X: \t b \t\r\n`), uws: 'runs', node: 'runs' },
  { name: 'an empty value', bytes: get(`${H}X:\r\n`), uws: 'runs', node: 'runs' },
  { name: 'an unknown header', bytes: get(`${H}X-Whatever: yes\r\n`), uws: 'runs', node: 'runs' },
  {
    name: 'a query with question marks',
    bytes: get(H, 'GET /?a?b=c%20d HTTP/1.1'),
    uws: 'runs',
    node: 'runs',
  },
  { name: 'POST with Content-Length 0', bytes: post('Content-Length: 0\r\n'), uws: 'runs', node: 'runs' },
  { name: 'POST without any length', bytes: post(''), uws: 'runs', node: 'runs' },
  { name: 'POST with a body', bytes: post('Content-Length: 3\r\n', 'abc'), uws: 'runs', node: 'runs' },
  { name: 'GET with Content-Length 0', bytes: get(`${H}Content-Length: 0\r\n`), uws: 'runs', node: 'runs' },
  { name: 'OPTIONS', bytes: get(H, 'OPTIONS / HTTP/1.1'), uws: 'runs', node: 'runs' },
  {
    name: 'Expect: 100-continue',
    bytes: post('Expect: 100-continue\r\nContent-Length: 1\r\n', 'x'),
    uws: 'runs',
    node: 'runs',
  },
  {
    name: 'an offer to upgrade',
    bytes: get(`${H}Connection: upgrade\r\nUpgrade: h2c\r\n`),
    uws: 'runs',
    node: 'runs',
  },
  {
    name: 'chunked where allowed',
    bytes: post('Transfer-Encoding: chunked\r\n', '3\r\nabc\r\n0\r\n\r\n'),
    uws: 'runs',
    node: 'runs',
    allowChunked: true,
  },
  { name: 'a line break before the request', bytes: `\r\n${get(H)}`, uws: 'silent', node: 'runs' },
  {
    name: '48 headers',
    bytes: get(H + 'X: y\r\n'.repeat(47)),
    uws: 'runs',
    node: 'runs',
  },
  {
    name: '64 headers',
    bytes: get(H + 'X: y\r\n'.repeat(63)),
    uws: 'silent',
    strictUws: 'runs',
    node: 'runs',
  },
  { name: '65 headers', bytes: get(H + 'X: y\r\n'.repeat(64)), uws: 'silent', strictUws: 431, node: 431 },
  {
    name: 'an underscore in a header name',
    bytes: get(`${H}X_Y: a\r\n`),
    uws: 'silent',
    strictUws: 'runs',
    node: 'runs',
  },
  {
    name: 'HTTP/1.0 with Host',
    bytes: get(H, 'GET / HTTP/1.0'),
    uws: 'silent',
    strictUws: 505,
    node: 'runs',
  },
  {
    name: 'chunk extensions where chunked is allowed',
    bytes: post('Transfer-Encoding: chunked\r\n', '3;a=b\r\nabc\r\n0\r\n\r\n'),
    uws: 'silent',
    node: 'runs',
    ran: ['/'],
    allowChunked: true,
  },
  { name: 'no Host', bytes: get('X: y\r\n'), uws: 'closed', strictUws: 400, node: 400 },
  { name: 'no header at all', bytes: get(''), uws: 'silent', strictUws: 400, node: 400 },
  { name: 'an empty Host', bytes: get('Host:\r\n'), uws: 400, node: 400 },
  { name: 'two Hosts', bytes: get('Host: a\r\nHost: b\r\n'), uws: 400, node: 400 },
  { name: 'the same Host twice', bytes: get(H + H), uws: 400, node: 400 },
  { name: 'a Host with a path', bytes: get('Host: a/b\r\n'), uws: 400, node: 400 },
  { name: 'a Host with credentials', bytes: get('Host: u@a\r\n'), uws: 400, node: 400 },
  { name: 'a Host with a space', bytes: get('Host: a b\r\n'), uws: 400, node: 400 },
  { name: 'a list of Hosts', bytes: get('Host: a, b\r\n'), uws: 400, node: 400 },
  { name: 'a Host with a broken port', bytes: get('Host: a:b\r\n'), uws: 400, node: 400 },
  { name: 'an unknown method', bytes: get(H, 'BREW / HTTP/1.1'), uws: 'closed', node: 400 },
  { name: 'a method no one serves', bytes: get(H, 'PROPFIND / HTTP/1.1'), uws: 'closed', node: 'closed' },
  { name: 'a method in lower case', bytes: get(H, 'get / HTTP/1.1'), uws: 'closed', node: 400 },
  { name: 'TRACE', bytes: get(H, 'TRACE / HTTP/1.1'), uws: 'closed', node: 'closed' },
  { name: 'CONNECT', bytes: get(H, 'CONNECT a:1 HTTP/1.1'), uws: 'silent', strictUws: 505, node: 'closed' },
  {
    name: 'an absolute target',
    bytes: get(H, 'GET http://b/ HTTP/1.1'),
    uws: 'silent',
    strictUws: 505,
    node: 'closed',
  },
  {
    name: 'an asterisk target',
    bytes: get(H, 'OPTIONS * HTTP/1.1'),
    uws: 'silent',
    strictUws: 505,
    node: 'closed',
  },
  {
    name: 'a target without slash',
    bytes: get(H, 'GET a HTTP/1.1'),
    uws: 'silent',
    strictUws: 505,
    node: 400,
  },
  { name: 'a target with a fragment', bytes: get(H, 'GET /a#b HTTP/1.1'), uws: 'closed', node: 'closed' },
  { name: 'a target beyond ASCII', bytes: get(H, 'GET /\xe9 HTTP/1.1'), uws: 'closed', node: 400 },
  { name: 'HTTP/1.2', bytes: get(H, 'GET / HTTP/1.2'), uws: 'silent', strictUws: 505, node: 400 },
  { name: 'HTTP/2.0', bytes: get(H, 'GET / HTTP/2.0'), uws: 'silent', strictUws: 505, node: 'closed' },
  { name: 'HTTP/0.9', bytes: 'GET /\r\n\r\n', uws: 'silent', strictUws: 505, node: 'closed' },
  {
    name: 'the preface of HTTP/2',
    bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    uws: 'silent',
    strictUws: 505,
    node: 400,
  },
  { name: 'GET with a body', bytes: `${get(`${H}Content-Length: 3\r\n`)}abc`, uws: 'closed', node: 'closed' },
  {
    name: 'HEAD with a body',
    bytes: `${get(`${H}Content-Length: 3\r\n`, 'HEAD / HTTP/1.1')}abc`,
    uws: 'closed',
    node: 'closed',
  },
  {
    name: 'DELETE with a body',
    bytes: `${get(`${H}Content-Length: 3\r\n`, 'DELETE / HTTP/1.1')}abc`,
    uws: 'closed',
    node: 'closed',
  },
]

export const SMUGGLING: readonly HeadCase[] = [
  {
    name: 'Content-Length and Transfer-Encoding',
    bytes: post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${EVIL}`),
    uws: 'closed',
    strictUws: 400,
    node: 400,
  },
  {
    name: 'Content-Length and Transfer-Encoding, chunked allowed',
    bytes: post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', `0\r\n\r\n${EVIL}`),
    uws: 'closed',
    strictUws: 400,
    node: 400,
    allowChunked: true,
  },
  {
    name: 'two lengths',
    bytes: post('Content-Length: 3\r\nContent-Length: 40\r\n', `abc${EVIL}`),
    uws: 'closed',
    node: 400,
  },
  {
    name: 'the same length twice',
    bytes: post('Content-Length: 3\r\nContent-Length: 3\r\n', `abc${EVIL}`),
    uws: 'closed',
    node: 400,
  },
  {
    name: 'a list of lengths',
    bytes: post('Content-Length: 3, 3\r\n', `abc${EVIL}`),
    uws: 'closed',
    node: 400,
  },
  { name: 'a negative length', bytes: post('Content-Length: -1\r\n', EVIL), uws: 'closed', node: 400 },
  {
    name: 'a length with plus',
    bytes: post('Content-Length: +3\r\n', `abc${EVIL}`),
    uws: 'closed',
    node: 400,
  },
  {
    name: 'a hexadecimal length',
    bytes: post('Content-Length: 0x3\r\n', `abc${EVIL}`),
    uws: 'closed',
    node: 400,
  },
  {
    name: 'a length with a space inside',
    bytes: post('Content-Length: 1 2\r\n', `abc${EVIL}`),
    uws: 'closed',
    node: 400,
  },
  {
    name: 'a length beyond 64 bits',
    bytes: post('Content-Length: 18446744073709551619\r\n', `abc${EVIL}`),
    uws: 'closed',
    node: 400,
  },
  {
    name: 'a length of ten digits',
    bytes: post('Content-Length: 4294967299\r\n', `abc${EVIL}`),
    uws: 'closed',
    node: 'closed',
  },
  { name: 'an empty length', bytes: post('Content-Length:\r\n', EVIL), uws: 'closed', node: 400 },
  {
    name: 'a space before the colon of a length',
    bytes: post('Content-Length : 3\r\n', `abc${EVIL}`),
    uws: 'silent',
    strictUws: 400,
    node: 400,
  },
  {
    name: 'a length hidden on a folded line',
    bytes: post('X: y\r\n Content-Length: 3\r\n', `abc${EVIL}`),
    uws: 'silent',
    strictUws: 400,
    node: 400,
  },
  {
    name: 'chunked where it is not allowed',
    bytes: post('Transfer-Encoding: chunked\r\n', `0\r\n\r\n${EVIL}`),
    uws: 'closed',
    node: 'closed',
  },
  {
    name: 'Transfer-Encoding: gzip',
    bytes: post('Transfer-Encoding: gzip\r\n', EVIL),
    uws: 'closed',
    node: 'closed',
  },
  {
    name: 'Transfer-Encoding: gzip, chunked',
    bytes: post('Transfer-Encoding: gzip, chunked\r\n', `0\r\n\r\n${EVIL}`),
    uws: 'closed',
    node: 'closed',
    allowChunked: true,
  },
  {
    name: 'Transfer-Encoding: chunked, identity',
    bytes: post('Transfer-Encoding: chunked, identity\r\n', `0\r\n\r\n${EVIL}`),
    uws: 'closed',
    node: 400,
    allowChunked: true,
  },
  {
    name: 'Transfer-Encoding: xchunked',
    bytes: post('Transfer-Encoding: xchunked\r\n', `0\r\n\r\n${EVIL}`),
    uws: 'closed',
    node: 'closed',
    allowChunked: true,
  },
  {
    name: 'Transfer-Encoding: CHUNKED',
    bytes: post('Transfer-Encoding: CHUNKED\r\n', `0\r\n\r\n${EVIL}`),
    uws: 'closed',
    node: 'closed',
    allowChunked: true,
  },
  {
    name: 'two Transfer-Encodings',
    bytes: post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${EVIL}`),
    uws: 'closed',
    node: 400,
    allowChunked: true,
  },
  {
    name: 'Transfer-Encoding with a vertical tab',
    bytes: post('Transfer-Encoding: \x0bchunked\r\n', `0\r\n\r\n${EVIL}`),
    uws: 'silent',
    strictUws: 400,
    node: 400,
    allowChunked: true,
  },
  {
    name: 'a chunk size that is not a number',
    bytes: post('Transfer-Encoding: chunked\r\n', `zz\r\nabc\r\n0\r\n\r\n${EVIL}`),
    uws: 'closed',
    strictUws: 400,
    node: 400,
    ran: ['/'],
    allowChunked: true,
  },
  {
    name: 'a negative chunk size',
    bytes: post('Transfer-Encoding: chunked\r\n', `-3\r\nabc\r\n0\r\n\r\n${EVIL}`),
    uws: 'closed',
    strictUws: 400,
    node: 400,
    ran: ['/'],
    allowChunked: true,
  },
  {
    name: 'a chunk size beyond 64 bits',
    bytes: post('Transfer-Encoding: chunked\r\n', `10000000000000003\r\nabc\r\n0\r\n\r\n${EVIL}`),
    uws: 'closed',
    strictUws: 400,
    node: 400,
    ran: ['/'],
    allowChunked: true,
  },
  {
    name: 'a request behind GET with a body',
    bytes: `${get(`${H}Content-Length: ${EVIL.length}\r\n`)}${EVIL}`,
    uws: 'closed',
    node: 'closed',
  },
  {
    name: 'a request behind two Hosts',
    bytes: `${get('Host: a\r\nHost: b\r\n')}${EVIL}`,
    uws: 'closed',
    strictUws: 400,
    node: 400,
  },
  {
    name: 'a request behind an unknown method',
    bytes: `${get(H, 'BREW / HTTP/1.1')}${EVIL}`,
    uws: 'closed',
    node: 400,
  },
  {
    name: 'a line feed that ends a header',
    bytes: get('Host: a\nX: b\r\n'),
    uws: 'silent',
    strictUws: 400,
    node: 400,
  },
  { name: 'a carriage return inside a value', bytes: get(`${H}X: a\rEvil: b\r\n`), uws: 'silent', node: 400 },
]

export const MALFORMED: readonly HeadCase[] = [
  { name: 'line feeds only', bytes: 'GET / HTTP/1.1\nHost: a\n\n', uws: 'silent', strictUws: 505, node: 400 },
  { name: 'NUL in a value', bytes: get(`${H}X: a\0b\r\n`), uws: 'silent', strictUws: 400, node: 400 },
  {
    name: 'a control character in a value',
    bytes: get(`${H}X: a\x01b\r\n`),
    uws: 'silent',
    strictUws: 400,
    node: 400,
  },
  {
    name: 'a control character in the target',
    bytes: get(H, 'GET /\x01 HTTP/1.1'),
    uws: 'silent',
    strictUws: 505,
    node: 400,
  },
  { name: 'NUL in the target', bytes: get(H, 'GET /\0 HTTP/1.1'), uws: 'silent', strictUws: 505, node: 400 },
  {
    name: 'a space in the target',
    bytes: get(H, 'GET /a b HTTP/1.1'),
    uws: 'silent',
    strictUws: 505,
    node: 400,
  },
  {
    name: 'two spaces before the target',
    bytes: get(H, 'GET  / HTTP/1.1'),
    uws: 'silent',
    strictUws: 505,
    node: 'runs',
  },
  {
    name: 'tabs in the request line',
    bytes: get(H, 'GET\t/\tHTTP/1.1'),
    uws: 'silent',
    strictUws: 505,
    node: 400,
  },
  {
    name: 'a space behind the version',
    bytes: get(H, 'GET / HTTP/1.1 '),
    uws: 'silent',
    strictUws: 505,
    node: 400,
  },
  {
    name: 'a version in lower case',
    bytes: get(H, 'GET / http/1.1'),
    uws: 'silent',
    strictUws: 505,
    node: 400,
  },
  { name: 'no method', bytes: get(H, '/ HTTP/1.1'), uws: 'silent', strictUws: 505, node: 400 },
  {
    name: 'a header without colon',
    bytes: get(`${H}Nonsense\r\n`),
    uws: 'silent',
    strictUws: 400,
    node: 400,
  },
  {
    name: 'a space in a header name',
    bytes: get(`${H}X Y: a\r\n`),
    uws: 'silent',
    strictUws: 400,
    node: 400,
  },
  {
    name: 'a header name beyond ASCII',
    bytes: get(`${H}X\xe9: a\r\n`),
    uws: 'silent',
    strictUws: 400,
    node: 400,
  },
  {
    name: 'a bracket in a header name',
    bytes: get(`${H}X[y]: a\r\n`),
    uws: 'silent',
    strictUws: 400,
    node: 400,
  },
  {
    name: 'a header line that begins with a space',
    bytes: get(` X: y\r\n${H}`),
    uws: 'silent',
    strictUws: 400,
    node: 400,
  },
  {
    name: 'an empty header name, which hides what follows from uWS',
    bytes: get(`${H}: a\r\nHost: b\r\n`),
    uws: 'runs',
    node: 400,
  },
  {
    name: 'random bytes',
    bytes: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
    uws: 'silent',
    strictUws: 505,
    node: 400,
  },
  { name: 'an empty line and nothing else', bytes: '\r\n\r\n', uws: 'silent', node: 'silent' },
]
