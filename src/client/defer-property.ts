/** Adds a property that is computed when it is first read, because most are never read. */
export function deferProperty<T extends object, K extends string, V>(
  target: T,
  name: K,
  compute: () => V,
): T & Record<K, V> {
  let computed: { value: V } | undefined
  return Object.defineProperty(target, name, {
    get: () => {
      computed ??= { value: compute() }
      return computed.value
    },
    enumerable: true,
    configurable: true,
  }) as T & Record<K, V>
}
