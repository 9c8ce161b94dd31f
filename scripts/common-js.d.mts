/** Types of `common-js.mjs`, which the build runs before anything is compiled. It holds no code. */
/** The first lines of the bundle. */
export declare const COMMON_JS: string
