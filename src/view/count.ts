/** `1 message`, `12,345 messages`. */
export function countOf(count: number, noun: string): string {
  const digits = String(count).replace(/\B(?=(\d{3})+$)/g, ',')
  return `${digits} ${noun}${count === 1 ? '' : 's'}`
}
