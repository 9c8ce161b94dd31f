/** Builds the path of a request from its template, and finds values with dot segments. */
import type { ParameterBinding } from '../../model/tool.ts'
import { encode, wireText } from './encode.ts'
import { serializeSimple } from './serialize.ts'

type Args = { readonly [name: string]: unknown }
type Piece = string | ParameterBinding

/** Whether a value has a dot segment, alone or between slashes of either kind. Many servers decode `%2F` and `%2E` before they look. */
export function climbs(value: string): boolean {
  return value.includes('.') && value.split(/[/\\]/).some(part => part === '.' || part === '..')
}

/** Splits once; the returned function joins for each call. */
export function preparePath(path: string, parameters: readonly ParameterBinding[]): (args: Args) => string {
  const inPath = new Map(parameters.filter(parameter => parameter.in === 'path').map(p => [p.name, p]))
  const segments = path.split('/').map(segment => piecesOf(segment, inPath))
  if (segments.every(pieces => pieces.every(piece => typeof piece === 'string'))) {
    const fixed = segments.map(pieces => pieces.join('')).join('/')
    return () => fixed
  }
  return args => {
    let out = ''
    for (let i = 0; i < segments.length; i++) {
      if (i > 0) out += '/'
      out += joinSegment(segments[i]!, args)
    }
    return out
  }
}

function piecesOf(segment: string, inPath: ReadonlyMap<string, ParameterBinding>): Piece[] {
  return segment
    .split(/(\{[^{}]+\})/)
    .filter(piece => piece !== '')
    .map(piece => {
      const binding = piece.startsWith('{') ? inPath.get(piece.slice(1, -1)) : undefined
      return binding ?? encodeLiteral(piece)
    })
}

/** What a document writes in a path, with only what a path cannot hold encoded (RFC 3986 §3.3). */
function encodeLiteral(literal: string): string {
  return literal.replace(/%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9._~!$&'()*+,;=:@%-]+/gu, encode)
}

function joinSegment(pieces: readonly Piece[], args: Args): string {
  let out = ''
  let templated = false
  for (const piece of pieces) {
    if (typeof piece === 'string') out += piece
    else {
      templated = true
      out += serializeValue(piece, args[piece.argument])
    }
  }
  // validation has refused such values; if one arrives nevertheless, it stays a single segment
  if (!templated) return out
  if (out === '') return '%20'
  return out === '.' || out === '..' ? out.replaceAll('.', '%252E') : out
}

function serializeValue(binding: ParameterBinding, value: unknown): string {
  if (value === undefined || value === null) return ''
  if (binding.contentType !== undefined) return encode(wireText(value))
  const { name, style, explode } = binding
  if (typeof value === 'string' && style === 'simple') return encodePathText(value)
  return serializeSimple(name, value, style, explode, encodePathText)
}

/** A part with a dot segment is encoded twice, so that no server between here and the backend reads one. */
function encodePathText(value: string): string {
  return climbs(value) ? encode(encode(value).replaceAll('.', '%2E')) : encode(value)
}
