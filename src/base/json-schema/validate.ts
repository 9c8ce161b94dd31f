/** Validators of arguments by Ajv and their warm-up, a check of schemas, and the size of arguments. */
import type { ValidateFunction } from 'ajv'
import { Ajv2020, type ErrorObject, type Options } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { ExactNumber, holdsExact, withDoubles, writeJson } from '../json/exact-number.ts'
import type { JsonSchema } from '../json/json-schema.ts'
import type { ArgumentFault } from './argument-fault.ts'
import type { ArgumentSize } from './cost.ts'
import { addExactKeywords, replaceMultipleOf, validateExact } from './exact-keywords.ts'
import { linearMatcher } from './pattern.ts'
import { clearValues, replaceUniqueItems } from './unique-items.ts'

/** More faults than this do not help the caller. */
const MAX_FAULTS = 20
/** Larger arguments get the first fault only: collecting all of them could cost more than the call. */
const MAX_VALUES_FOR_ALL_FAULTS = 5_000
/** Deeper arguments are refused before a recursive schema meets them. */
const MAX_DEPTH = 200

/**
 * What Ajv calls to make a pattern; a pattern beyond a linear-time engine matches everything (the compiler gave notice of it).
 * Ajv distinguishes patterns of one schema by `toString`.
 */
function regExp(pattern: string): { test(text: string): boolean; toString(): string } {
  const { test } = linearMatcher(pattern) ?? { test: () => true }
  return { test, toString: () => pattern }
}
regExp.code = 'new RegExp'

/**
 * The format `url` of ajv-formats with its part for user information, `\S+(?::\S*)?@`, as the equivalent `\S+@`: the original takes
 * quadratic time on a text of many colons.
 */
const { source, flags } = fullFormats.url as RegExp
const URL_FORMAT = new RegExp(source.replace('\\S+(?::\\S*)?@', '\\S+@'), flags)

/** The nearest doubles of what does not fit are not below 2^63. */
function isInt64(value: number): boolean {
  return Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63
}

function ajvWith(options: Options): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    logger: false,
    validateSchema: false,
    addUsedSchema: false,
    ownProperties: true,
    // Large schemas that many places refer to would be copied into each of them.
    inlineRefs: 10,
    // its optimizer takes as long as the rest of a compilation, and the code runs no faster for it
    code: { regExp, optimize: false },
    ...options,
  })
  // The module's default export is the plugin in ESM and CommonJS builds alike; its types know only the latter.
  ;(ajvFormats as unknown as (ajv: Ajv2020) => void)(ajv)
  ajv.addFormat('url', URL_FORMAT)
  ajv.addFormat('int64', { type: 'number', validate: isInt64 })
  replaceUniqueItems(ajv)
  replaceMultipleOf(ajv)
  return ajv
}

/** Ajv never releases compiled schemas, so an instance serves this many schemas; it goes when the last of their tools goes. */
const SCHEMAS_PER_AJV = 50

class SchemaCompiler {
  readonly #options: Options
  readonly #exact: boolean
  #ajv: Ajv2020 | undefined
  #used = 0

  /** @param exact for arguments with numbers that a double would change */
  constructor(options: Options, exact = false) {
    this.#options = options
    this.#exact = exact
  }

  get isOpen(): boolean {
    return this.#ajv !== undefined && this.#used < SCHEMAS_PER_AJV
  }

  /** Makes the next instance of Ajv, which takes milliseconds for the first ones of a thread. */
  open(): void {
    this.#ajv = ajvWith(this.#options)
    if (this.#exact) addExactKeywords(this.#ajv)
    this.#used = 0
  }

  compile(schema: JsonSchema, observer?: CompileObserver): ValidateFunction {
    if (!this.isOpen) this.open()
    observer?.('compiling')
    this.#used++
    compiledSchemas++
    // a keyword of Ajv alone: the validator would return a promise, which passes for a match
    const { $async: _, ...synchronous } = schema
    const compiled = this.#ajv!.compile(synchronous)
    observer?.('compiled')
    return compiled
  }
}

/** Compiled schemas of this thread. */
let compiledSchemas = 0
/** Before so many schemas, V8 interprets Ajv: a small schema takes ten times as long to compile. */
const WARM_SCHEMAS = 24

/** Each has the engine read another of its tables, once. */
const WARM_PATTERNS = [
  '^\\p{L}+$',
  '^(?:\\p{Lu}|\\p{N}){1,5}$',
  '^[^\\w\\s]*$',
  '^(?:a|b)+(?:c|d)+$',
  '^.{1,20}$',
  '\\P{Ll}',
]

/** Whether a small schema is compiled in about a millisecond. */
export function isWarm(): boolean {
  return compiledSchemas >= WARM_SCHEMAS
}

/** Compiles schemas of the usual kinds until the thread is warm, each step in a turn, so that its first calls do not wait for V8. Never rejects. */
export async function warmUp(nextTurn: () => Promise<void>): Promise<void> {
  const text = { type: 'string', minLength: 1, maxLength: 64, pattern: '^[a-z]+$' }
  const properties = { a: text, b: { type: 'integer', minimum: 0 }, c: { enum: ['x', 'y'] } }
  for (let at = 0; !isWarm(); at++) {
    const items = { type: 'object', properties, required: ['a'], additionalProperties: false }
    const schema = {
      type: 'object',
      title: String(at),
      properties: { ...properties, list: { type: 'array', items } },
    }
    const compiler = at % 2 === 0 ? plain.first : plain.all
    await nextTurn()
    linearMatcher(WARM_PATTERNS[at % WARM_PATTERNS.length]!)?.test('a1')
    await nextTurn()
    if (!compiler.isOpen) compiler.open()
    else compiler.compile(at < 8 ? { ...schema, properties } : schema)({ a: 'a', list: [{ a: 1 }] })
  }
}

const plain = {
  first: new SchemaCompiler({ allErrors: false }),
  all: new SchemaCompiler({ allErrors: true }),
}
const exact = {
  first: new SchemaCompiler({ allErrors: false }, true),
  all: new SchemaCompiler({ allErrors: true }, true),
}

/** A schema is compiled when arguments are first checked, and once more when the first arguments do not fit. */
type CompileObserver = (state: 'compiling' | 'compiled') => void

export type Validator = (args: unknown, size?: ArgumentSize | undefined) => readonly ArgumentFault[]

/** A validator whose compilation is left to the caller, because each step of it may take milliseconds. */
export interface SteppedValidator {
  /** @returns faults by JSON Pointer, empty when the arguments fit; undefined when `compileNext` must be called first */
  check(args: unknown, size: ArgumentSize): readonly ArgumentFault[] | undefined
  /** Compiles what the last check lacked. */
  compileNext(): void
}

/**
 * @returns faults by JSON Pointer, empty when the arguments fit; a schema that cannot be compiled refuses every call.
 */
export function compileValidator(schema: JsonSchema, observer?: CompileObserver): Validator {
  const stepped = prepareValidator(schema, observer)
  return (args, size = measure(args)) => {
    if (size === undefined) return TOO_DEEP
    for (;;) {
      const faults = stepped.check(args, size)
      if (faults !== undefined) return faults
      stepped.compileNext()
    }
  }
}

export function prepareValidator(schema: JsonSchema, observer?: CompileObserver): SteppedValidator {
  // an assertion with a number that a double would change needs the exact keywords for any arguments
  const isExact = holdsExact(schema)
  const onDoubles = new LazyCheck(schema, plain, observer)
  const onExact = new LazyCheck(schema, exact, observer)
  let last = onDoubles
  let broken: readonly ArgumentFault[] | undefined
  const breakBy = (error: unknown): readonly ArgumentFault[] => {
    const message = error instanceof Error ? error.message : String(error)
    return [{ path: '', message: `cannot be checked: ${message.slice(0, 200)}` }]
  }
  return {
    check(args, size) {
      if (broken !== undefined) return broken
      try {
        last = isExact || size.exact ? onExact : onDoubles
        if (last === onDoubles) return onDoubles.run(args, size.values)
        return validateExact(args, standIn => onExact.run(standIn, size.values))
      } catch (error) {
        return breakBy(error)
      } finally {
        clearValues()
      }
    },
    compileNext() {
      try {
        last.compileNext()
      } catch (error) {
        broken = breakBy(error)
      }
    },
  }
}

class LazyCheck {
  readonly #schema: JsonSchema
  readonly #compilers: typeof plain
  readonly #observer: CompileObserver | undefined
  #quick: ValidateFunction | undefined
  #thorough: ValidateFunction | undefined

  constructor(schema: JsonSchema, compilers: typeof plain, observer: CompileObserver | undefined) {
    this.#schema = schema
    this.#compilers = compilers
    this.#observer = observer
  }

  /** undefined: something has to be compiled first. */
  run(args: unknown, values: number): readonly ArgumentFault[] | undefined {
    const quick = this.#quick
    if (quick === undefined) return undefined
    if (quick(args)) return NO_FAULTS
    if (values > MAX_VALUES_FOR_ALL_FAULTS) return faultsOf(quick.errors)
    const thorough = this.#thorough
    if (thorough === undefined) return undefined
    thorough(args)
    return faultsOf(thorough.errors)
  }

  compileNext(): void {
    const { first, all } = this.#compilers
    const compiler = this.#quick === undefined ? first : all
    if (!compiler.isOpen) compiler.open()
    else if (this.#quick === undefined) this.#quick = first.compile(this.#schema, this.#observer)
    else this.#thorough ??= all.compile(this.#schema, this.#observer)
  }
}

const asserting = new SchemaCompiler({ validateSchema: true })

/** Throws when the schema is not a valid JSON Schema 2020-12; used where schemas come from people and MCP servers. */
export function assertSchema(schema: JsonSchema): void {
  asserting.compile(withDoubles(schema) as JsonSchema)
}

const NO_FAULTS: readonly ArgumentFault[] = Object.freeze([])
export const TOO_DEEP: readonly ArgumentFault[] = Object.freeze([
  { path: '', message: `must not be nested deeper than ${MAX_DEPTH} levels` },
])

const NO_VALUES: unknown[] = []

/** Counted without recursion; undefined when values are nested too deeply. */
export function measure(root: unknown): ArgumentSize | undefined {
  return measureUpTo(root, Number.POSITIVE_INFINITY) as ArgumentSize | undefined
}

/** As `measure`; `many`: the count was ended at more than so many values. */
export function measureUpTo(root: unknown, maxValues: number): ArgumentSize | 'many' | undefined {
  let level: unknown[] = [root]
  let values = 0
  let chars = 0
  let depth = 0
  let exact = false
  for (; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return undefined
    let next: unknown[] | undefined
    for (const parent of level) {
      if (parent === null || typeof parent !== 'object') continue
      const isList = Array.isArray(parent)
      const names = isList ? parent : Object.keys(parent)
      values += names.length
      if (values > maxValues) return 'many'
      for (const name of names) {
        const child: unknown = isList ? name : (parent as Record<string, unknown>)[name as string]
        if (!isList) chars += (name as string).length
        if (typeof child === 'string') chars += child.length
        else if (child instanceof ExactNumber) {
          exact = true
          chars += child.text.length
        } else if (child !== null && typeof child === 'object') {
          next ??= []
          next.push(child)
        }
      }
    }
    level = next ?? NO_VALUES
  }
  return { values, chars, depth, exact }
}

function faultsOf(errors: readonly ErrorObject[] | null | undefined): readonly ArgumentFault[] {
  const faults = new Map<string, ArgumentFault>()
  for (const error of errors ?? []) {
    const fault = faultOf(error)
    faults.set(`${fault.path}\n${fault.message}`, fault)
    if (faults.size >= MAX_FAULTS) break
  }
  if (faults.size === 0) return [{ path: '', message: 'does not match the schema' }]
  return [...faults.values()]
}

/** Characters; a caller may send a name of a megabyte, or a document have such a constant, which twenty faults would repeat. */
const MAX_PATH_CHARS = 256
const MAX_MESSAGE_CHARS = 1_000

function faultOf(error: ErrorObject): ArgumentFault {
  const { path, message } = wholeFaultOf(error)
  return { path: shorten(path, MAX_PATH_CHARS), message: shorten(message, MAX_MESSAGE_CHARS) }
}

function shorten(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)}…`
}

function wholeFaultOf(error: ErrorObject): ArgumentFault {
  const path = error.instancePath
  const params = error.params as { readonly [key: string]: unknown }
  if (error.keyword === 'required') {
    return { path: `${path}/${escapeToken(String(params.missingProperty))}`, message: 'is required' }
  }
  if (error.keyword === 'additionalProperties') {
    return {
      path: `${path}/${escapeToken(String(params.additionalProperty))}`,
      message: 'is not defined in the schema',
    }
  }
  if (error.keyword === 'enum' && Array.isArray(params.allowedValues)) {
    const values = params.allowedValues.slice(0, 20).map(value => writeJson(value))
    return { path, message: `must be one of ${values.join(', ')}` }
  }
  if (error.keyword === 'const') return { path, message: `must be ${writeJson(params.allowedValue)}` }
  return { path, message: error.message ?? 'is not valid' }
}

/** RFC 6901 §3. */
function escapeToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
