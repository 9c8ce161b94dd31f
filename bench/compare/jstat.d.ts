/** The two functions of jstat that the comparison uses; the package brings no types. */
declare module 'jstat' {
  const jstat: {
    /** Student's t distribution. */
    readonly studentt: {
      /** Probability of a value up to `t`. */
      cdf(t: number, degrees: number): number
      /** The value that is not exceeded with probability `p`. */
      inv(p: number, degrees: number): number
    }
  }
  export default jstat
}
