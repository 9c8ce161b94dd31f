/** Unpacks a tar.gz within limits, and packs files into one with reproducible bytes. */
import { crc32, gunzipSync } from 'node:zlib'

const BLOCK_BYTES = 512
const MAX_ENTRIES = 10_000
/** RFC 1951 §3.2.4: the length of a stored block has 16 bits. */
const STORED_BLOCK_BYTES = 0xffff

export interface ArchiveLimits {
  readonly maxCompressedBytes: number
  readonly maxBytes: number
}

/**
 * Unpacks a gzipped ustar archive (POSIX.1-1988) of plain files in memory.
 * @returns name without leading `/` or `../shared/policy/` → content.
 * @throws Error that says what is wrong: too large, truncated, damaged, links, repeated or escaping names.
 */
export function unpack(archive: Uint8Array, limits: ArchiveLimits): Map<string, Uint8Array> {
  if (archive.byteLength > limits.maxCompressedBytes) {
    throw new Error(
      `the archive has ${archive.byteLength} bytes, more than the limit of ${limits.maxCompressedBytes}`,
    )
  }
  if (archive[0] !== 0x1f || archive[1] !== 0x8b) throw new Error('the archive is not a gzip file')
  return readTar(gunzip(archive, limits.maxBytes))
}

function gunzip(archive: Uint8Array, maxBytes: number): Buffer {
  try {
    return gunzipSync(archive, { maxOutputLength: maxBytes })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ERR_BUFFER_TOO_LARGE')
      throw new Error(`the unpacked archive has more than ${maxBytes} bytes`)
    if (code === 'Z_BUF_ERROR') throw new Error('the archive is truncated')
    throw new Error(`the archive is damaged (${(error as Error).message})`)
  }
}

function readTar(tar: Buffer): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>()
  let at = 0
  for (let entries = 0; ; entries++) {
    if (entries > MAX_ENTRIES) throw new Error(`the archive contains more than ${MAX_ENTRIES} entries`)
    if (at + BLOCK_BYTES > tar.length) throw new Error('the archive is truncated')
    const header = tar.subarray(at, at + BLOCK_BYTES)
    at += BLOCK_BYTES
    if (header[0] === 0) return files
    if (checksum(header) !== octal(header, 148, 8))
      throw new Error('an entry of the archive has a wrong checksum')
    const name = safeName(text(header, 345, 155), text(header, 0, 100))
    const size = octal(header, 124, 12)
    const type = String.fromCharCode(header[156]!)
    if (type === '5') continue
    // nothing but files: links lead elsewhere, and extended headers give a second name to argue about
    if (type !== '0' && type !== '\0')
      throw new Error(`"${name}" is not a regular file (entry type ${JSON.stringify(type)})`)
    if (files.has(name)) throw new Error(`the archive contains "${name}" twice`)
    if (at + size > tar.length) throw new Error(`the archive is truncated within "${name}"`)
    files.set(name, tar.subarray(at, at + size))
    at += Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES
  }
}

function safeName(prefix: string, name: string): string {
  const whole = prefix === '' ? name : `${prefix}/${name}`
  const relative = whole.replace(/^(\.?\/)+/, '').replace(/\/$/, '')
  if (/[\0\\]/.test(relative) || relative.split('/').some(part => part === '..' || part === '.')) {
    throw new Error(
      `the entry name ${JSON.stringify(whole)} contains "." or ".." as a segment, a backslash or a NUL character`,
    )
  }
  return relative
}

/** Sum of the header's bytes, its own field taken as blanks. */
function checksum(header: Uint8Array): number {
  let sum = 8 * 0x20
  for (let i = 0; i < BLOCK_BYTES; i++) if (i < 148 || i >= 156) sum += header[i]!
  return sum
}

function octal(header: Buffer, from: number, length: number): number {
  const digits = text(header, from, length).trim()
  if (!/^[0-7]{1,11}$/.test(digits))
    throw new Error('the archive is damaged: the header of an entry contains an invalid number')
  return Number.parseInt(digits, 8)
}

function text(header: Buffer, from: number, length: number): string {
  const field = header.subarray(from, from + length)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end < 0 ? length : end)
}

/**
 * Packs files in name order, without times, owners or compression: the same files are the same bytes on every
 * machine (deflate is not: its output depends on the zlib build and on the processor).
 */
export function pack(files: ReadonlyMap<string, Uint8Array>): Buffer {
  const parts: Buffer[] = []
  for (const [name, content] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    parts.push(tarHeader(name, content.byteLength), Buffer.from(content))
    parts.push(Buffer.alloc((BLOCK_BYTES - (content.byteLength % BLOCK_BYTES)) % BLOCK_BYTES))
  }
  parts.push(Buffer.alloc(2 * BLOCK_BYTES))
  return store(Buffer.concat(parts))
}

function tarHeader(name: string, size: number): Buffer {
  if (Buffer.byteLength(name) > 100)
    throw new Error(`the file name "${name}" is longer than 100 bytes, the limit of a tar header`)
  const header = Buffer.alloc(BLOCK_BYTES)
  header.write(name, 0, 'utf8')
  header.write('0000644\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
  header.write('00000000000\0', 136)
  header.write('0', 156)
  header.write('ustar\x0000', 257, 'latin1')
  header.write(`${checksum(header).toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

/** gzip (RFC 1952) of stored blocks (RFC 1951 §3.2.4). */
function store(content: Buffer): Buffer {
  // no name, no time, unknown system: nothing of the machine that packed it
  const parts: Buffer[] = [Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])]
  for (let at = 0; at < content.length; at += STORED_BLOCK_BYTES) {
    const block = content.subarray(at, at + STORED_BLOCK_BYTES)
    const head = Buffer.alloc(5)
    head[0] = at + STORED_BLOCK_BYTES >= content.length ? 1 : 0
    head.writeUInt16LE(block.length, 1)
    head.writeUInt16LE(block.length ^ 0xffff, 3)
    parts.push(head, block)
  }
  const tail = Buffer.alloc(8)
  tail.writeUInt32LE(crc32(content), 0)
  tail.writeUInt32LE(content.length >>> 0, 4)
  parts.push(tail)
  return Buffer.concat(parts)
}
