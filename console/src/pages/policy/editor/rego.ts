/** Rego for CodeMirror: kinds of tokens, and completion of input fields, their values, keywords and built-in functions. */
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import { StreamLanguage, type StringStream } from '@codemirror/language'

const KEYWORDS = new Set(
  'package import as default if else in every some not with contains true false null'.split(' '),
)
const BUILTINS = [
  ...['count', 'sum', 'max', 'min', 'sort', 'concat', 'contains', 'startswith', 'endswith', 'lower', 'upper'],
  ...['split', 'sprintf', 'trim', 'replace', 'regex.match', 'glob.match', 'net.cidr_contains', 'object.get'],
  ...['object.keys', 'object.union', 'array.concat', 'is_string', 'is_number', 'is_array', 'is_object'],
  ...['to_number', 'time.clock', 'time.weekday', 'rego.metadata.rule'],
]

interface State {
  inRawText: boolean
}

export const rego = StreamLanguage.define<State>({
  name: 'rego',
  startState: () => ({ inRawText: false }),
  languageData: { commentTokens: { line: '#' }, closeBrackets: { brackets: ['(', '[', '{', '"', '`'] } },
  token: tokenOf,
})

function tokenOf(stream: StringStream, state: State): string | null {
  if (state.inRawText) {
    state.inRawText = !stream.skipTo('`')
    if (state.inRawText) stream.skipToEnd()
    else stream.next()
    return 'string'
  }
  if (stream.eatSpace()) return null
  if (stream.match(/^#.*/)) return 'comment'
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return 'string'
  if (stream.eat('`')) {
    state.inRawText = true
    return 'string'
  }
  if (stream.match(/^-?\d+(?:\.\d+)?/)) return 'number'
  const word = stream.match(/^[A-Za-z_][\w]*/) as RegExpMatchArray | null
  if (word !== null) {
    if (KEYWORDS.has(word[0])) return 'keyword'
    if (word[0] === 'input' || word[0] === 'data') return 'atom'
    return stream.peek() === '(' ? 'variableName.function' : 'variableName'
  }
  stream.next()
  return 'operator'
}

/** For the input, as JSON schema. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
}

function schemaAt(schema: Schema, path: readonly string[]): Schema | undefined {
  let found: Schema | undefined = schema
  for (const name of path) found = found?.properties?.[name]
  return found
}

const optionOf = (label: string, { description, type }: Schema): Completion => ({
  label,
  type: 'property',
  ...(typeof type === 'string' ? { detail: type } : {}),
  ...(description === undefined ? {} : { info: description }),
})

/** Fields after `input.…`, values of a field in quotes after `=` or `==`, else keywords and built-in functions. */
export function completeRego(schema: Schema, context: CompletionContext): CompletionResult | null {
  const field = context.matchBefore(/\binput(?:\.\w+)*\.\w*/)
  if (field !== null) {
    const path = field.text.split('.').slice(1)
    const properties = schemaAt(schema, path.slice(0, -1))?.properties ?? {}
    const options = Object.entries(properties).map(([name, each]) => optionOf(name, each))
    return { from: field.to - path.at(-1)!.length, options, validFor: /^\w*$/ }
  }
  const value = context.matchBefore(/\binput(?:\.\w+)+ *==? *"[\w.]*/)
  if (value !== null) {
    const [, path = '', typed = ''] = /^input\.([\w.]+) *==? *"([\w.]*)$/.exec(value.text) ?? []
    const values = schemaAt(schema, path.split('.'))?.enum ?? []
    const options = values.map(each => ({ label: String(each), type: 'enum' }))
    return { from: value.to - typed.length, options, validFor: /^[\w.]*$/ }
  }
  const word = context.matchBefore(/[A-Za-z_][\w.]*/)
  if (word === null && !context.explicit) return null
  const options = [
    ...[...KEYWORDS, 'input', 'data'].map(label => ({ label, type: 'keyword' })),
    ...BUILTINS.map(label => ({ label, type: 'function' })),
  ]
  // not beyond a dot: behind `input.` there are other options
  return { from: word?.from ?? context.pos, options, validFor: /^\w*$/ }
}
