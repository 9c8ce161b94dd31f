/** The text in place of parts that a result leaves out. */
import type { Content } from '../../../model/tool.ts'

/** @param count of the parts */
export function leftOutParts(count: number): Content {
  return { type: 'text', text: `[Left out: further parts of the result (${count}).]` }
}
