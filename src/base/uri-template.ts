/** Reads URI templates of resources, and matches URIs with them. */

/** For a template, and of a URI that is compared with one. */
export const MAX_URI_LENGTH = 2_048
const MAX_EXPRESSIONS = 16
const NAME = /^[A-Za-z0-9_.%]{1,64}$/

interface Expression {
  /** `''`: one segment of text; `+` and `#` take slashes too. */
  readonly operator: string
  readonly names: readonly string[]
}

export interface UriTemplate {
  readonly names: readonly string[]
  /** @returns the decoded values by name; undefined when the URI does not fit */
  match(uri: string): { readonly [name: string]: string } | undefined
}

/** For RFC 6570. @returns undefined when it is not a template that can be matched: broken, too long, or with expressions that follow each other directly */
export function readUriTemplate(template: string): UriTemplate | undefined {
  if (template.length > MAX_URI_LENGTH) return undefined
  const parts = template.split(/\{([^{}]*)\}/)
  const literals = parts.filter((_, at) => at % 2 === 0)
  const expressions = parts.filter((_, at) => at % 2 === 1).map(readExpression)
  if (expressions.length > MAX_EXPRESSIONS || literals.some(literal => /[{}]/.test(literal))) return undefined
  const valid = expressions.filter(expression => expression !== undefined)
  if (valid.length !== expressions.length) return undefined
  const isAmbiguous = valid.some(
    (expression, at) => at > 0 && literals[at] === '' && firstOf(expression) === '',
  )
  if (isAmbiguous) return undefined
  const names = valid.flatMap(expression => expression.names)
  return { names, match: uri => match(uri, literals, valid) }
}

function readExpression(text: string): Expression | undefined {
  const operator = /^[+#./;?&]/.exec(text)?.[0] ?? ''
  // the modifiers say how lists are written; here every value is one text
  const names = text
    .slice(operator.length)
    .split(',')
    .map(name => name.replace(/\*$|:\d{1,4}$/, ''))
  return names.every(name => NAME.test(name)) ? { operator, names } : undefined
}

/** The character with which the expansion of an expression begins, if it is not empty. */
function firstOf({ operator }: Expression): string {
  return operator === '+' ? '' : operator
}

function match(
  uri: string,
  literals: readonly string[],
  expressions: readonly Expression[],
): { readonly [name: string]: string } | undefined {
  if (uri.length > MAX_URI_LENGTH || !uri.startsWith(literals[0]!)) return undefined
  const values: [string, string][] = []
  let at = literals[0]!.length
  for (const [index, expression] of expressions.entries()) {
    const end = endOf(uri, at, literals[index + 1]!, expressions[index + 1])
    if (end === undefined || !read(expression, uri.slice(at, end), values)) return undefined
    at = end + literals[index + 1]!.length
  }
  return at === uri.length ? Object.fromEntries(values) : undefined
}

/** Where the value ends: before the literal that follows, at the first character of the next expression, or with the URI. */
function endOf(uri: string, from: number, literal: string, next: Expression | undefined): number | undefined {
  if (literal !== '') {
    const end = next === undefined ? uri.length - literal.length : uri.indexOf(literal, from)
    return end >= from && uri.startsWith(literal, end) ? end : undefined
  }
  if (next === undefined) return uri.length
  const end = uri.indexOf(firstOf(next), from)
  return end < 0 ? uri.length : end
}

function read({ operator, names }: Expression, text: string, values: [string, string][]): boolean {
  if (operator === '?' || operator === '&' || operator === ';')
    return readNamed(operator, names, text, values)
  const prefix = operator === '+' ? '' : operator
  if (text === '') return operator !== '' && operator !== '+'
  if (!text.startsWith(prefix)) return false
  const whole = text.slice(prefix.length)
  if (
    operator !== '+' &&
    operator !== '#' &&
    /[/?#]/.test(operator === '/' ? whole.replaceAll('/', '') : whole)
  )
    return false
  const separator = operator === '/' || operator === '.' ? operator : ','
  const given = names.length === 1 ? [whole] : whole.split(separator)
  if (given.length > names.length) return false
  return given.every((value, at) => put(values, names[at]!, value))
}

/** `?a=1&b=2`: in any order, and any of them may be absent. */
function readNamed(
  operator: string,
  names: readonly string[],
  text: string,
  values: [string, string][],
): boolean {
  if (text === '') return true
  if (!text.startsWith(operator)) return false
  return text
    .slice(1)
    .split(operator === ';' ? ';' : '&')
    .every(pair => {
      const [name = '', ...value] = pair.split('=')
      return names.includes(name) && put(values, name, value.join('='))
    })
}

function put(values: [string, string][], name: string, value: string): boolean {
  try {
    values.push([name, decodeURIComponent(value)])
    return true
  } catch {
    return false
  }
}
