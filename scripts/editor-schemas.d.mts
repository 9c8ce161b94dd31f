/** Types of `editor-schemas.mjs`. */

/** @returns the JSON Schema of the newest version of a custom resource definition */
export function editorSchema(definition: unknown): object
