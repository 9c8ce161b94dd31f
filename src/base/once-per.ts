/** Makes a value for an object or key that has none, and keeps it. It limits no map: the owner of the map does. */

/** `make`, called once for each object; the value is collected with the object. */
export function oncePer<K extends object, V extends {}>(make: (key: K) => V): (key: K) => V {
  const values = new WeakMap<K, V>()
  return key => getOrSet(values, key, make)
}

/** The value of the key in the map; made and stored when the map has none. */
export function getOrSet<K, V extends {}>(
  map: { get(key: K): V | undefined; set(key: K, value: V): unknown },
  key: K,
  make: (key: K) => V,
): V {
  let value = map.get(key)
  if (value === undefined) {
    value = make(key)
    map.set(key, value)
  }
  return value
}
