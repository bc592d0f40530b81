/** Ends the code block that an answer leaves open, so that what follows it is no code (CommonMark 4.5). */
export function closeFence(text: string): string {
  let open: string | undefined
  for (const line of text.split('\n')) {
    const [, fence = '', rest = ''] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? []
    if (fence === '') continue
    if (open === undefined) {
      // A back-tick in what follows makes it no fence.
      if (!(fence.startsWith('`') && rest.includes('`'))) open = fence
    } else if (fence[0] === open[0] && fence.length >= open.length && rest.trim() === '') open = undefined
  }
  if (open === undefined) return text
  return `${text}${text.endsWith('\n') ? '' : '\n'}${open}\n`
}
