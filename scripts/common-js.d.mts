/** Types of `common-js.mjs`, which runs uncompiled. It holds no code. */
/** The first lines of the bundle. */
export declare const COMMON_JS: string
