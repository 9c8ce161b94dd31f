/** Conversion between the names of methods and their numbers in the kernel. */
import {
  METHOD_ANY,
  METHOD_CONNECT,
  METHOD_DELETE,
  METHOD_GET,
  METHOD_HEAD,
  METHOD_OPTIONS,
  METHOD_OTHER,
  METHOD_PATCH,
  METHOD_POST,
  METHOD_PUT,
  METHOD_TRACE,
} from './abi.ts'

/** By number: METHOD_GET … METHOD_CONNECT. */
const NAMES = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'CONNECT']

/** METHOD_… of a request's method; METHOD_OTHER for one without a number. Case matters (RFC 9110 §9.1). */
export function methodNumber(method: string): number {
  // By letters, not by a map: a name fresh from the wire would be hashed first.
  switch (method.charCodeAt(0)) {
    case 71:
      return method === 'GET' ? METHOD_GET : METHOD_OTHER
    case 80:
      if (method === 'POST') return METHOD_POST
      if (method === 'PUT') return METHOD_PUT
      return method === 'PATCH' ? METHOD_PATCH : METHOD_OTHER
    case 68:
      return method === 'DELETE' ? METHOD_DELETE : METHOD_OTHER
    case 72:
      return method === 'HEAD' ? METHOD_HEAD : METHOD_OTHER
    case 79:
      return method === 'OPTIONS' ? METHOD_OPTIONS : METHOD_OTHER
    case 84:
      return method === 'TRACE' ? METHOD_TRACE : METHOD_OTHER
    case 67:
      return method === 'CONNECT' ? METHOD_CONNECT : METHOD_OTHER
    default:
      return METHOD_OTHER
  }
}

/** METHOD_… of a route's method, `*` being METHOD_ANY; undefined when no route can have it. */
export function routeMethodNumber(method: string): number | undefined {
  if (method === '*') return METHOD_ANY
  const number = methodNumber(method)
  return number === METHOD_OTHER ? undefined : number
}

/** Names of the methods whose bits are set (`allowedMethods`), for the `Allow` header. */
export function methodNames(bits: number): string[] {
  return NAMES.filter((_, number) => (bits & (1 << number)) !== 0)
}
