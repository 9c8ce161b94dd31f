/** Reads the media types and the JSON schema of the success responses of an operation, or of `default`. */
import { isObject } from '../../base/json/is-object.ts'
import { type Dict, own } from './dict.ts'
import type { OpenDocument, RawOperation } from './document.ts'
import { acceptOf, essence, isJson } from './media-types.ts'
import { modernResponse } from './swagger2.ts'

interface ReadResponses {
  /** Value of `Accept`. */
  readonly accept: string
  /** Schema of the first JSON response, in the order of their statuses; undefined when there is none. */
  readonly node: unknown
}

export function readResponses(document: OpenDocument, raw: RawOperation): ReadResponses {
  const operation = raw.operation as Dict
  const responses = own(operation, 'responses')
  const types: string[] = []
  let node: unknown
  for (const status of isObject(responses) ? successes(responses) : []) {
    const given = document.follow((responses as Dict)[status])
    if (!isObject(given)) continue
    const response = document.dialect === '2.0' ? modernResponse(document, operation, given) : given
    const content = own(response, 'content')
    for (const key of isObject(content) ? Object.keys(content) : []) {
      const type = essence(key)
      if (type === undefined) continue
      types.push(type)
      const media = document.follow((content as Dict)[key])
      if (node === undefined && isJson(type) && isObject(media)) node = own(media, 'schema')
    }
  }
  return { accept: acceptOf(types), node }
}

/** 2xx in ascending order, then the range, or `default` when there are none. */
function successes(responses: Dict): string[] {
  const exact = Object.keys(responses)
    .filter(status => /^2\d\d$/.test(status))
    .sort()
  const range = Object.keys(responses).filter(status => /^2XX$/i.test(status))
  const all = [...exact, ...range]
  return all.length > 0 ? all : Object.keys(responses).filter(status => status === 'default')
}
