/** What gateways expect of a declared value: its names in the model and its kinds, without bounds, because the control plane may be newer. */
import { camelCase, type ModelOf } from './names.ts'
import { z } from './zod.ts'

/**
 * A field that may be null may also be absent, as in updates of an older control plane; a list may not, because null allows everything that
 * the list would restrict.
 */
type Served<T> = T extends readonly (infer Item)[]
  ? readonly Served<Item>[]
  : T extends object
    ? string extends keyof T
      ? T
      : {
          readonly [Name in keyof T as MayBeAbsent<T[Name]> extends true ? never : Name]: Served<T[Name]>
        } & {
          readonly [Name in keyof T as MayBeAbsent<T[Name]> extends true ? Name : never]?: Served<T[Name]>
        }
    : T
type MayBeAbsent<V> = null extends V ? (NonNullable<V> extends readonly unknown[] ? false : true) : false

export type ServedOf<Schema extends z.ZodType> = Served<ModelOf<Schema>>

/** Unknown fields and unknown words are accepted. */
export function servedForm<Schema extends z.ZodType>(schema: Schema): z.ZodType<ServedOf<Schema>> {
  return formOf(schema) as unknown as z.ZodType<ServedOf<Schema>>
}

function formOf(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodNullable) {
    const form = formOf(schema.unwrap() as z.ZodType)
    return form instanceof z.ZodArray ? form.nullable() : form.nullish()
  }
  if (schema instanceof z.ZodDefault) return formOf(schema.unwrap() as z.ZodType)
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries(schema.shape as z.ZodRawShape)
    return z.object(
      Object.fromEntries(fields.map(([name, field]) => [camelCase(name), formOf(field as z.ZodType)])),
    )
  }
  if (schema instanceof z.ZodArray) return z.array(formOf(schema.element as z.ZodType))
  if (schema instanceof z.ZodRecord) return z.record(z.string(), formOf(schema.valueType as z.ZodType))
  if (schema instanceof z.ZodEnum || schema instanceof z.ZodString) return z.string()
  if (schema instanceof z.ZodBoolean) return z.boolean()
  if (schema instanceof z.ZodNumber) return z.number()
  throw new TypeError(`A gateway cannot check a schema of the kind ${schema.def.type}.`)
}
