/**
 * Records where processes under test send or write credentials: loaded by NODE_OPTIONS=--import into every Node process of a run, threads included.
 * Each finding is a line of JSON in CANARY_FILE, without the credential. `judge.mjs` compares the lines with the table of permitted places.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'

const file = process.env.CANARY_FILE
const append = fs.appendFileSync

/** By their form, so that no test has to say what it makes: JWTs, keys of the data plane, secrets of webhooks, cookies of pages. */
const FORMS = [
  ['jwt', 'eyJ', /eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}/g],
  ['api key', 'tgk_', /tgk_[0-9A-Za-z]{8}_[0-9A-Za-z]{32}/g],
  ['webhook secret', 'whsec_', /whsec_[\w+/=]{24,}/g],
  ['cookie', 'toolgate-', /toolgate-(?:session|login|connect)[\w.-]*=[\w-]{40,}/g],
]

/** The nearest caller that is the product or a test. */
function placeOf({ stack }) {
  for (const line of stack.split('\n')) {
    if (line.includes('/test/canary/')) continue
    const found =
      /\/((?:src|dist|test|bench)\/[\w./-]+\.[mc]?[jt]s)/.exec(line) ??
      /node_modules\/((?:sonic-boom|pino|kafkajs|ioredis|pg|@electric-sql|oidc-provider|undici)[\w./-]*)/.exec(
        line,
      )
    if (found !== null) return found[1].replace(/\.[cm]?[jt]s$/, '').replace(/^dist/, 'src')
  }
  return 'node'
}

/** Its text is made for a finding only: with source maps that takes milliseconds. */
function callers() {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 60
  const error = new Error('callers')
  Error.stackTraceLimit = limit
  return error
}

/** Who a token is for: it distinguishes a caller's from that of the gateway itself. */
function ownerOf(form, text) {
  if (form !== 'jwt') return undefined
  try {
    const { azp, client_id, sub } = JSON.parse(Buffer.from(text.split('.')[1], 'base64url').toString())
    return azp ?? client_id ?? sub
  } catch {
    return undefined
  }
}

/** Text or bytes, neither copied nor decoded: a database writes thousands of pages. */
function searchable(chunk) {
  if (typeof chunk === 'string') return chunk
  return ArrayBuffer.isView(chunk) ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength) : ''
}

/** The part of its buffer that a call of `fs.write` writes: PGlite passes its whole memory. */
function written(chunk, offset, length) {
  if (!ArrayBuffer.isView(chunk)) return chunk
  const [from, bytes] = typeof offset === 'object' ? [offset?.offset, offset?.length] : [offset, length]
  const at = typeof from === 'number' ? from : 0
  return searchable(chunk).subarray(at, typeof bytes === 'number' ? at + bytes : undefined)
}

/** @param describe where the text goes, called for a finding only */
function look(chunk, describe) {
  const bytes = searchable(chunk)
  for (const [form, sign, pattern] of FORMS) {
    if (!bytes.includes(sign)) continue
    const text = bytes.toString('latin1')
    for (const { 0: found, index } of text.matchAll(pattern)) {
      const before = text.slice(0, index)
      const header = /(?:^|\n)([\w-]+): ?[^\r\n]*$/.exec(before)?.[1]?.toLowerCase()
      const finding = { form, owner: ownerOf(form, found), header, ...describe(text) }
      append(file, `${JSON.stringify(finding)}\n`)
    }
  }
}

const firstLine = text => /^[A-Z]+ [^\s?]*/.exec(text)?.[0]

if (file !== undefined) {
  const opened = Symbol('opened')
  const asked = Symbol('asked')
  const { connect, write, push } = net.Socket.prototype
  // only sockets that this process opened: what it accepts is a response
  net.Socket.prototype.connect = function (...args) {
    this[opened] ??= callers()
    return connect.apply(this, args)
  }
  net.Socket.prototype.write = function (chunk, ...rest) {
    if (this[opened] !== undefined) {
      this[asked] = firstLine(searchable(chunk).toString('latin1', 0, 300)) ?? this[asked]
      look(chunk, () => ({
        to: 'socket',
        by: placeOf(this[opened]),
        from: placeOf(callers()),
        request: this[asked],
        port: this.remotePort,
      }))
    }
    return write.call(this, chunk, ...rest)
  }
  net.Socket.prototype.push = function (chunk, ...rest) {
    if (this[opened] !== undefined)
      look(chunk, () => ({
        to: 'response',
        by: placeOf(this[opened]),
        request: this[asked],
        port: this.remotePort,
      }))
    return push.call(this, chunk, ...rest)
  }
  for (const name of ['write', 'writeSync', 'writeFile', 'writeFileSync', 'appendFile', 'appendFileSync']) {
    const original = fs[name]
    const part = /^write(?:Sync)?$/.test(name) ? written : searchable
    fs[name] = function (target, ...rest) {
      look(part(...rest), () => ({ to: 'file', from: placeOf(callers()), file: String(target).slice(-60) }))
      return original.call(this, target, ...rest)
    }
  }
  for (const name of ['writeFile', 'appendFile']) {
    const original = fs.promises[name]
    fs.promises[name] = function (target, data, ...rest) {
      look(data, () => ({ to: 'file', from: placeOf(callers()), file: String(target).slice(-60) }))
      return original.call(this, target, data, ...rest)
    }
  }
  syncBuiltinESMExports()
}
