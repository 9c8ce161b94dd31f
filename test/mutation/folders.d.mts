/** Types of `folders.mjs`, which Stryker's configuration reads before anything is compiled. */
export interface Part {
  readonly mutate: readonly string[]
  /** The first run first. */
  readonly tests: readonly string[]
}

/** Folder → its parts by name. */
export declare const FOLDERS: Readonly<Record<string, Readonly<Record<string, Part>>>>
/** The parts of all folders by name. */
export declare const PARTS: Readonly<Record<string, Part>>
/** Names of tests that do not run for mutants. */
export declare const LEFT_OUT: readonly string[]
