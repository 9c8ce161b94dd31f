/** The straight line through measured points. */

export interface Slope {
  /** For y for each unit of x. */
  readonly perUnit: number
  /** Standard error of it. */
  readonly error: number
}

/** Least squares. @throws RangeError with fewer than three points: any line fits two */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): Slope {
  const count = points.length
  if (count < 3) throw new RangeError(`A slope needs 3 or more points, not ${count}. Measure for longer.`)
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / count
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / count
  let xx = 0
  let xy = 0
  for (const [x, y] of points) {
    xx += (x - meanX) ** 2
    xy += (x - meanX) * (y - meanY)
  }
  const perUnit = xy / xx
  const left = points.reduce((sum, [x, y]) => sum + (y - meanY - perUnit * (x - meanX)) ** 2, 0)
  return { perUnit, error: Math.sqrt(left / (count - 2) / xx) }
}
