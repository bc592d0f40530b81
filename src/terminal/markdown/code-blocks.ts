import { Failure } from '../../contract/failure.ts'
import type { CodeSelection } from './code-selection.ts'
import { MarkdownWriter } from './markdown-writer.ts'
import { plainStyle } from './text-style.ts'

const unstripped = { push: (text: string): string => text, end: (): string => '' }

/**
 * The code of each fenced block, without its fences. A block is what the terminal shows as one, so that a
 * person can count them. marked replaces tabs in lists by spaces.
 */
export function findCodeBlocks(markdown: string): string[] {
  const codeBlocks: string[] = []
  const writer = new MarkdownWriter({ columns: 80, style: plainStyle, codeBlocks }, unstripped)
  writer.push(markdown.replaceAll('\r\n', '\n'))
  writer.end()
  return codeBlocks
}

/**
 * The code of the selected blocks, with an empty line between two blocks.
 * @throws Failure `invalid_response`, with code `no_code_block`
 */
export function selectCode(markdown: string, selection: CodeSelection): string {
  const blocks = findCodeBlocks(markdown)
  const selected =
    selection === 'all' ? blocks : blocks.slice(selection === 'last' ? -1 : selection - 1).slice(0, 1)
  if (selected.length > 0) return selected.join('\n')
  const count = blocks.length === 1 ? '1 code block' : `${blocks.length} code blocks`
  throw new Failure(
    'invalid_response',
    blocks.length === 0
      ? 'The reply contains no code block'
      : `The reply contains ${count}, so block ${selection} does not exist`,
    { code: 'no_code_block' },
  )
}
