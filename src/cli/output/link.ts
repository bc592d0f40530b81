/**
 * An address that can be clicked (OSC 8) even where it takes several lines; the address alone where
 * the terminal does not know links.
 *
 * @param url as the URL parser writes it: it has no character that a terminal could act on
 */
export async function linkTo(url: string, stream: NodeJS.WriteStream, plain: boolean): Promise<string> {
  if (plain || !stream.isTTY) return url
  const link = await linkerFor(stream)
  return link?.(url, url) ?? url
}

/** How a text becomes a link where the terminal knows links; undefined where it does not. */
export async function linkerFor(
  stream: NodeJS.WriteStream,
): Promise<((text: string, url: string) => string) | undefined> {
  const { createSupportsHyperlinks } = await import('supports-hyperlinks')
  if (!createSupportsHyperlinks(stream)) return undefined
  return (text, url) => `\u001b]8;;${url}\u0007${text}\u001b]8;;\u0007`
}
