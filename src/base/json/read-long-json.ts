/** Reads long JSON texts in interruptible steps, and finds half of a surrogate pair in them. It does not bound their length. */
import { readJson, setOwn } from './exact-number.ts'
import { loneSurrogateAt } from './lone-surrogate.ts'

/** Characters of members or items that are read at once, apart from the last one of them. */
const GROUP_CHARS = 32 * 1024
/** Characters that are looked at before other work may come between. */
const LOOKED_AT_ONCE = 64 * 1024
const MAX_DEPTH = 1_000

const QUOTE = 0x22
const COMMA = 0x2c
const OPEN = { list: 0x5b, object: 0x7b }
const CLOSE = { list: 0x5d, object: 0x7d }
const NOT_BLANK = /[^ \t\r\n]/
const COLON = /^[ \t\r\n]*:[ \t\r\n]*$/

export interface LongJson {
  readonly value: unknown
  /** JSON Pointer of the first string with half of a surrogate pair. */
  readonly loneSurrogateAt: string | undefined
}

/** A list or object that has not ended. */
interface Open {
  readonly isList: boolean
  /** For its bracket. */
  readonly from: number
  /** Where the members begin that are not read yet; -1 behind a member that was read by itself, until its comma. */
  groupFrom: number
  /** For the last comma at this level, else of the bracket. */
  commaAt: number
  /** Behind the member that was read by itself. */
  memberEnd: number
  /** What was read of it; undefined while it may still be read as a part of what it is in. */
  node: unknown[] | { [name: string]: unknown } | undefined
  path: string
}

/** Throws a SyntaxError where `JSON.parse` throws one, and a RangeError for text that is nested too deeply. */
export function* readLongJson(text: string, groupChars = GROUP_CHARS): Generator<void, LongJson> {
  const reader = new Reader(text, groupChars)
  let lookedTo = LOOKED_AT_ONCE
  let groups = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === OPEN.list || code === OPEN.object) reader.open(at, code === OPEN.list)
    else if (code === CLOSE.list || code === CLOSE.object) reader.close(at, code === CLOSE.list)
    else if (code === COMMA) reader.comma(at)
    if (at < lookedTo && reader.groups === groups) continue
    lookedTo = at + LOOKED_AT_ONCE
    groups = reader.groups
    yield
  }
  return reader.end()
}

class Reader {
  groups = 0
  readonly #text: string
  readonly #groupChars: number
  readonly #stack: Open[] = []
  #root: Open | undefined
  #lone: string | undefined

  constructor(text: string, groupChars: number) {
    this.#text = text
    this.#groupChars = groupChars
  }

  open(at: number, isList: boolean): void {
    if (this.#stack.length === MAX_DEPTH) throw new RangeError(`deeper than ${MAX_DEPTH} levels`)
    this.#stack.push({
      isList,
      from: at,
      groupFrom: at + 1,
      commaAt: at,
      memberEnd: 0,
      node: undefined,
      path: '',
    })
  }

  comma(at: number): void {
    const open = this.#stack.at(-1)
    if (open === undefined) throw new SyntaxError(`a comma at ${at}`)
    if (open.groupFrom < 0) {
      this.#expectBlank(open.memberEnd, at)
      open.groupFrom = at + 1
    } else if (at - open.groupFrom > this.#groupChars) {
      this.#begin(this.#stack.length - 1)
      this.#read(open, at)
      open.groupFrom = at + 1
    }
    open.commaAt = at
  }

  close(at: number, isList: boolean): void {
    const open = this.#stack.pop()
    if (open === undefined || open.isList !== isList) throw new SyntaxError(`a bracket at ${at}`)
    if (open.node === undefined) return
    if (open.groupFrom < 0) this.#expectBlank(open.memberEnd, at)
    else this.#read(open, at)
    const parent = this.#stack.at(-1)
    if (parent === undefined) this.#root = open
    else parent.memberEnd = at + 1
    open.memberEnd = at + 1
  }

  end(): LongJson {
    if (this.#stack.length > 0) throw new SyntaxError('a bracket is not closed')
    const root = this.#root
    if (root === undefined) {
      const value = readJson(this.#text)
      return { value, loneSurrogateAt: loneSurrogateAt(this.#text, value) }
    }
    this.#expectBlank(0, root.from)
    this.#expectBlank(root.memberEnd, this.#text.length)
    return { value: root.node, loneSurrogateAt: this.#lone }
  }

  /** From now on, what is open at this level and above it is read in groups. */
  #begin(level: number): void {
    const open = this.#stack[level]!
    if (open.node !== undefined) return
    open.node = open.isList ? [] : {}
    if (level === 0) return
    this.#begin(level - 1)
    const parent = this.#stack[level - 1]!
    if (parent.groupFrom < 0) throw new SyntaxError(`a bracket at ${open.from}`)
    if (parent.commaAt >= parent.groupFrom) this.#read(parent, parent.commaAt)
    const before = this.#text.slice(Math.max(parent.commaAt + 1, parent.groupFrom), open.from)
    let name: string
    if (parent.isList) {
      if (NOT_BLANK.test(before)) throw new SyntaxError(`text before ${open.from}`)
      name = String((parent.node as unknown[]).length)
      ;(parent.node as unknown[]).push(open.node)
    } else {
      const quoted = nameIn(before)
      name = JSON.parse(quoted) as string
      this.#noteLone(loneSurrogateAt(quoted, name), parent.path)
      setMember(parent.node as { [name: string]: unknown }, name, open.node)
    }
    open.path = `${parent.path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    parent.groupFrom = -1
  }

  /** Reads the members from `groupFrom` on. */
  #read(open: Open, to: number): void {
    this.groups++
    const members = this.#text.slice(open.groupFrom, to)
    if (!NOT_BLANK.test(members)) throw new SyntaxError(`no value before position ${to}`)
    if (open.isList) {
      const list = open.node as unknown[]
      const source = `[${members}]`
      const group = readJson(source) as unknown[]
      const lone = loneSurrogateAt(source, group)
      if (lone !== undefined) {
        const [, first = '', ...rest] = lone.split('/')
        this.#noteLone(['', list.length + Number(first), ...rest].join('/'), open.path)
      }
      for (const item of group) list.push(item)
      return
    }
    const source = `{${members}}`
    const group = readJson(source) as { [name: string]: unknown }
    this.#noteLone(loneSurrogateAt(source, group), open.path)
    for (const name of Object.keys(group))
      setMember(open.node as { [name: string]: unknown }, name, group[name])
  }

  #noteLone(pointer: string | undefined, path: string): void {
    if (pointer !== undefined) this.#lone ??= path + pointer
  }

  #expectBlank(from: number, to: number): void {
    if (NOT_BLANK.test(this.#text.slice(from, to))) throw new SyntaxError(`text after ${from}`)
  }
}

/** @returns the quoted name of a text that is a name and a colon */
function nameIn(text: string): string {
  const from = text.search(NOT_BLANK)
  const to = text[from] === '"' ? endOfString(text, from) + 1 : -1
  if (to < 0 || !COLON.test(text.slice(to))) throw new SyntaxError('an object member has no name')
  return text.slice(from, to)
}

/** Assigning is much faster, but to `__proto__` it would not make a member. */
function setMember(object: { [name: string]: unknown }, name: string, value: unknown): void {
  if (name === '__proto__') setOwn(object, name, value)
  else object[name] = value
}

/** @returns the place of the closing quote */
function endOfString(text: string, quote: number): number {
  for (let at = quote + 1; ; at++) {
    at = text.indexOf('"', at)
    if (at < 0) throw new SyntaxError(`the string that begins at position ${quote} is not closed`)
    let escapes = at
    while (text[escapes - 1] === '\\') escapes--
    if ((at - escapes) % 2 === 0) return at
  }
}
