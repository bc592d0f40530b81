const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** `1 byte`, `512 bytes`, `1.5 MiB`, `20 GiB`. */
export function describeBytes(count: number): string {
  if (count === 1) return '1 byte'
  let value = count
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  const digits = unit > 0 && value < 10 ? 1 : 0
  return `${value.toFixed(digits)} ${units[unit]}`
}
