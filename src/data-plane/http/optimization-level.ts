/** Reads the value of the request header `X-Token-Optimization`, and holds the message for an unknown one. */
import { OPTIMIZATION_LEVELS, type OptimizationLevel } from '../pipeline/operation.ts'

export const UNKNOWN_LEVEL_MESSAGE = `X-Token-Optimization must be one of ${OPTIMIZATION_LEVELS.join(', ')}.`

/** @param header '' when absent, which means `none`. @returns undefined for an unknown level */
export function readLevel(header: string): OptimizationLevel | undefined {
  if (header === '') return 'none'
  const value = header.trim().toLowerCase()
  return value === '' ? 'none' : OPTIMIZATION_LEVELS.find(level => level === value)
}
