/** Builds the request template of a tool from its operation and arguments. */
import type { ParameterBinding, RequestTemplate } from '../../model/tool.ts'
import type { Arguments } from './arguments.ts'
import type { RawOperation } from './document.ts'
import { SkippedOperation } from './skipped.ts'

/**
 * Some documents distinguish operations by a fragment (`/#Action=Create`), which is never sent, or have a query in the path
 * (`/search?q={term}`), whose placeholders become query parameters.
 * @throws SkippedOperation
 */
export function requestTemplate(
  raw: RawOperation,
  baseUrl: string,
  args: Arguments,
  accept: string,
): RequestTemplate {
  const withoutFragment = raw.path.split('#', 1)[0]!
  const at = withoutFragment.indexOf('?')
  const path = at < 0 ? withoutFragment : withoutFragment.slice(0, at)
  if (path.split('/').some(segment => /^(\.|%2e){1,2}$/i.test(segment))) {
    throw new SkippedOperation('the path contains a dot segment ("." or "..")')
  }
  const { query, parameters } = splitQuery(at < 0 ? '' : withoutFragment.slice(at + 1), args.parameters)
  return {
    method: raw.method,
    baseUrl,
    path,
    ...(query === '' ? {} : { query }),
    parameters,
    ...(args.body === undefined ? {} : { body: args.body }),
    accept,
  }
}

function splitQuery(
  query: string,
  parameters: readonly ParameterBinding[],
): { readonly query: string; readonly parameters: readonly ParameterBinding[] } {
  if (query === '') return { query, parameters }
  const fixed: string[] = []
  const moved = new Map<string, string>()
  for (const pair of query.split('&')) {
    const placeholder = /^([^={}]*)=\{([^{}]+)\}$/.exec(pair)
    if (placeholder !== null) moved.set(placeholder[2]!, placeholder[1]!)
    else if (/[{}]/.test(pair))
      throw new SkippedOperation(
        'a placeholder in the query string of the path must be the whole value of a query parameter',
      )
    else if (pair !== '') fixed.push(encodeURI(pair.replace(/[\r\n\t ]+/g, '%20')).replaceAll('%25', '%'))
  }
  return {
    query: fixed.join('&'),
    parameters: parameters.map(parameter => {
      const name = parameter.in === 'path' ? moved.get(parameter.name) : undefined
      return name === undefined
        ? parameter
        : { ...parameter, name, in: 'query', style: 'form', explode: false }
    }),
  }
}
