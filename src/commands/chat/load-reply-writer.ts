import { linkerFor, loadSessionStyle, wantsColor } from '../../cli/output/colors.ts'
import type { Output } from '../../cli/output/output.ts'
import { loadHighlight } from '../../terminal/markdown/highlight.ts'
import { PlainWriter, type ReplyWriter } from '../../terminal/markdown/plain-writer.ts'

/**
 * What turns a reply into the text that stdout gets: rendered Markdown in a terminal, and unchanged text in a
 * pipe.
 *
 * @param isRaw whether a terminal gets plain text too
 * @param isWhole whether the whole reply is known
 */
export async function loadReplyWriter(output: Output, isRaw: boolean, isWhole = false): Promise<ReplyWriter> {
  const { isShown, host } = output.streams
  const { stdout, env } = host
  if (!isShown) return new UnchangedWriter()
  if (isRaw || env['TERM'] === 'dumb') return new PlainWriter()
  const hasColor = wantsColor(stdout, env, output.isColorless)
  const [{ MarkdownWriter }, style, link, highlight] = await Promise.all([
    import('../../terminal/markdown/markdown-writer.ts'),
    loadSessionStyle(hasColor),
    linkerFor(stdout),
    hasColor ? loadHighlight() : undefined,
  ])
  return new MarkdownWriter({
    // The last column stays empty, because terminals wrap there in different ways.
    get columns() {
      return (stdout.columns || 80) - 1
    },
    style,
    isWhole,
    ...(link && { link }),
    ...(highlight && { highlight }),
  })
}

/** The text as it arrives. It ends with a newline. */
class UnchangedWriter implements ReplyWriter {
  #last = ''

  push(text: string): string {
    this.#last = text.at(-1) ?? this.#last
    return text
  }

  end(): string {
    return this.#last === '' || this.#last === '\n' ? '' : '\n'
  }
}
