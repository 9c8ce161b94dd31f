/** Prepares functions that build an HTTP request from a template and arguments, with a fixed credential where the backend has one. */
import { writeJson } from '../../base/json/exact-number.ts'
import type { BackendAuthentication, ParameterBinding, RequestTemplate } from '../../model/tool.ts'
import { type Credential, credentialOf } from '../../net/egress/backend-credential.ts'
import { joinedHeaders } from '../../net/joined-headers.ts'
import type { BackendRequest } from '../snapshot/snapshot.ts'
import { type BuiltBody, prepareBody } from './body.ts'
import { encode, encodeHeader, encodeReserved, wireText } from './encode.ts'
import { preparePath } from './path.ts'
import { serializePairs, serializeSimple } from './serialize.ts'

type Args = { readonly [name: string]: unknown }

/** Both need arguments that have been validated. */
export interface PreparedRequest {
  /** On the hot path. */
  build(args: Args): BackendRequest
  /** The same for arguments of any size; other work may come between its steps. */
  buildInSteps(args: Args): Generator<void, BackendRequest>
}

/** Prepared once per tool. */
export function prepareRequest(
  template: RequestTemplate,
  authentication: BackendAuthentication = { type: 'none' },
): PreparedRequest {
  const { method, baseUrl } = template
  const credential = credentialOf(authentication)
  const path = preparePath(template.path, template.parameters)
  const query = prepareQuery(template, credential)
  const headers = prepareHeaders(template, credential)
  const body = template.body === undefined ? undefined : prepareBody(template.body)
  const withBody = (args: Args, built: BuiltBody | undefined): BackendRequest => {
    const url = baseUrl + path(args) + query(args)
    const lines = headers(args)
    if (built === undefined) return { method, url, headers: lines }
    return {
      method,
      url,
      headers: joinedHeaders(lines, ['content-type', built.contentType]),
      body: built.body,
    }
  }
  return {
    build: args => withBody(args, body?.build(args)),
    *buildInSteps(args) {
      const built = body && (yield* body.buildInSteps(args))
      return withBody(args, built)
    },
  }
}

function prepareQuery(template: RequestTemplate, credential: Credential | undefined): (args: Args) => string {
  const parameters = template.parameters.filter(parameter => parameter.in === 'query')
  const secret = credential?.place === 'query' ? credential : undefined
  const fixed = [
    ...(template.query === undefined ? [] : [template.query]),
    ...(secret === undefined ? [] : [`${encode(secret.name)}=${encode(secret.value)}`]),
  ]
  if (parameters.length === 0) {
    const whole = fixed.length > 0 ? `?${fixed.join('&')}` : ''
    return () => whole
  }
  return args => {
    const pairs = [...fixed]
    for (const parameter of parameters) {
      const value = args[parameter.argument]
      if (value === undefined || value === null) continue
      for (const pair of pairsOf(parameter, value))
        if (secret === undefined || !namesCredential(pair, secret)) pairs.push(pair)
    }
    return pairs.length > 0 ? `?${pairs.join('&')}` : ''
  }
}

/** The keys of an exploded object come from the caller: none may stand in for the credential of the gateway, in whatever spelling a backend accepts. */
function namesCredential(pair: string, { name }: Credential): boolean {
  // some backends separate pairs with a semicolon, which `allowReserved` leaves as it is
  return pair.split(';').some(part => decodedName(part).toLowerCase() === name.toLowerCase())
}

function decodedName(pair: string): string {
  const end = pair.indexOf('=')
  const name = (end < 0 ? pair : pair.slice(0, end)).replaceAll('+', ' ').trim()
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

function pairsOf(parameter: ParameterBinding, value: unknown): string[] {
  const encoder = parameter.allowReserved === true ? encodeReserved : encode
  if (parameter.contentType !== undefined) {
    return [`${encode(parameter.name)}=${encoder(contentText(parameter.contentType, value))}`]
  }
  return serializePairs(parameter.name, value, parameter.style, parameter.explode, encoder)
}

/** JSON content of a string is a JSON string; any other type takes the text as it is. */
function contentText(contentType: string, value: unknown): string {
  return /[/+]json$/.test(contentType) ? writeJson(value) : wireText(value)
}

function prepareHeaders(
  template: RequestTemplate,
  credential: Credential | undefined,
): (args: Args) => readonly string[] {
  const parameters = template.parameters.filter(parameter => parameter.in === 'header')
  const cookies = template.parameters.filter(parameter => parameter.in === 'cookie')
  const fixed = ['accept', template.accept]
  if (credential?.place === 'header')
    fixed.push(credential.name.toLowerCase(), encodeHeader(credential.value))
  const secret = credential?.place === 'cookie' ? credential : undefined
  const crumb = secret === undefined ? undefined : `${secret.name}=${encode(secret.value)}`
  // calls share the list
  if (parameters.length === 0 && cookies.length === 0 && crumb === undefined) return () => fixed
  return args => {
    const lines = [...fixed]
    for (const parameter of parameters) {
      const value = args[parameter.argument]
      if (value !== undefined && value !== null) lines.push(parameter.name, headerText(parameter, value))
    }
    if (cookies.length > 0 || crumb !== undefined) {
      const crumbs = crumb === undefined ? [] : [crumb]
      for (const parameter of cookies) {
        const value = args[parameter.argument]
        if (value === undefined || value === null) continue
        for (const pair of pairsOf(parameter, value))
          if (secret === undefined || !namesCredential(pair, secret)) crumbs.push(pair)
      }
      if (crumbs.length > 0) lines.push('cookie', crumbs.join('; '))
    }
    return lines
  }
}

function headerText(parameter: ParameterBinding, value: unknown): string {
  if (parameter.contentType !== undefined) return encodeHeader(contentText(parameter.contentType, value))
  return encodeHeader(
    serializeSimple(parameter.name, value, parameter.style, parameter.explode, text => text),
  )
}
