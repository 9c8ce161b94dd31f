/** Reads `NODE_ENV`, which `serve` and other commands share. */
import type { Reader } from './reader.ts'

export function readNodeEnv(read: Reader) {
  return read.oneOf('NODE_ENV', ['development', 'production', 'test'], 'development')
}
