import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import stringWidth from 'string-width'
import { systemClock } from '../../../src/system/clock.ts'
import type { Completions, EditorEvent } from '../../../src/terminal/editor/completer.ts'
import { Editor } from '../../../src/terminal/editor/editor.ts'
import { InputHistory } from '../../../src/terminal/editor/input-history.ts'
import { KeyDecoder } from '../../../src/terminal/editor/key-decoder.ts'
import { markPasted, plainText } from '../../../src/terminal/editor/pasted-text.ts'
import { forAllTimes } from '../../support/for-all.ts'

const keys = {
  enter: '\r',
  tab: '\t',
  backTab: '\u001b[Z',
  escape: '\u001b',
  backspace: '\u007f',
  delete: '\u001b[3~',
  up: '\u001b[A',
  down: '\u001b[B',
  right: '\u001b[C',
  left: '\u001b[D',
  home: '\u001b[H',
  end: '\u001b[F',
  altEnter: '\u001b\r',
  shiftEnter: '\u001b[27;2;13~',
}

const ctrl = (letter: string): string => String.fromCharCode(letter.charCodeAt(0) & 0x1f)
const paste = (text: string): string => `\u001b[200~${text}\u001b[201~`

type Complete = (before: string) => Completions | Promise<Completions>

describe('the editor', () => {
  let directory: string
  let path: string
  const open: KeyDecoder[] = []

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'editor-'))
    path = join(directory, 'recall.jsonl')
  })
  afterEach(() => {
    for (const decoder of open.splice(0)) decoder.close()
    rmSync(directory, { recursive: true })
  })

  function start(entries: readonly string[] = [], complete: Complete = () => ({ start: 0, candidates: [] })) {
    const recall = new InputHistory(path, systemClock)
    for (const entry of entries) recall.add(entry)
    const events: EditorEvent[] = []
    const changes = { count: 0 }
    const editor = new Editor({
      recall,
      complete,
      onEvent: (event) => events.push(event),
      onChange: () => changes.count++,
      style: { dim: (text) => text, reverse: (text) => `*${text}*` },
    })
    const decoder = new KeyDecoder({ onKey: (key) => editor.handle(key) })
    open.push(decoder)
    const take = () => events.splice(0)
    /** The lines on the screen, with a bar as the cursor. */
    const screen = (columns = 40, rows = 10) => {
      const { lines, cursor } = editor.view(columns, rows)
      return lines.map((line, row) =>
        row === cursor.row ? cutAt(line.padEnd(cursor.column), cursor.column) : line,
      )
    }
    const outcome = {
      /** Expects these lines on the screen. */
      shows(...lines: string[]) {
        expect(screen()).to.deep.equal(lines)
        return outcome
      },
      /** Expects exactly these events since the last ones. */
      gives(...expected: EditorEvent[]) {
        expect(take()).to.deep.equal(expected)
        return outcome
      },
    }
    /** Types keys. Each is complete, even a lone ESC. */
    const type = (...typed: string[]) => {
      for (const one of typed) {
        decoder.push(one)
        if (one === keys.escape) decoder.close()
      }
      return outcome
    }
    return { editor, changes, type, take, screen }
  }

  function cutAt(line: string, column: number): string {
    let at = 0
    for (const { segment } of new Intl.Segmenter().segment(line)) {
      if (stringWidth(line.slice(0, at)) >= column) break
      at += segment.length
    }
    return `${line.slice(0, at)}|${line.slice(at)}`
  }

  describe('on Enter', () => {
    it('submits the text, which Up recalls', () => {
      const { type, editor } = start()
      type('hello', keys.enter).gives({ type: 'submit', text: 'hello' })
      expect(editor.text).to.equal('')
      type(keys.up).shows('> hello|')
    })

    it('submits nothing if the text is empty or blank', () =>
      start().type(keys.enter, '  ', keys.altEnter, keys.enter).gives())

    it('starts a new line with Ctrl+J, Alt+Enter, or Shift+Enter', () => {
      const { type, take, editor } = start()
      type('a', '\n', 'b', keys.altEnter, 'c', keys.shiftEnter, 'd', '\u001b[13;2u', 'e')
      expect(editor.text).to.equal('a\nb\nc\nd\ne')
      expect(take()).to.deep.equal([])
    })

    it('starts a new line after a backslash at the end of the line', () => {
      const { type } = start()
      type('one\\', keys.enter, 'two').shows('> one', '  two|')
      type(keys.enter).gives({ type: 'submit', text: 'one\ntwo' })
      type('a\\b', keys.left, keys.enter).gives({ type: 'submit', text: 'a\\b' })
      type(paste('one\\'), keys.enter, 'two').shows('> one', '  two|')
    })
  })

  describe('for a paste', () => {
    it('never submits', () => {
      const { type, editor } = start()
      type(paste('one\r\ntwo\r')).gives()
      expect(plainText(editor.text)).to.equal('one\ntwo\n')
    })

    it('shows many lines as their number, and submits them in full', () => {
      const { type } = start()
      const text = Array.from({ length: 42 }, (_, index) => `line ${index}`).join('\n')
      type('look: ', paste(text)).shows('> look: [pasted 42 lines]|')
      type(keys.left, ' ', keys.delete, keys.backspace, paste(text), keys.enter).gives({
        type: 'submit',
        text: `look: ${markPasted(text)}`,
      })
    })

    it('restores the paste as a draft', () => {
      const { type } = start(['before'])
      type(paste('x\n'.repeat(12)), keys.up).shows('> before|')
      type(keys.down).shows('> [pasted 12 lines]|')
    })
  })

  it('supports the editing keys of a shell', () => {
    const { type, screen } = start()
    const steps: [string, string][] = [
      ['one two three', '> one two three|'],
      [ctrl('a'), '> |one two three'],
      [ctrl('f'), '> o|ne two three'],
      [ctrl('d'), '> o|e two three'],
      [ctrl('e'), '> oe two three|'],
      [ctrl('b'), '> oe two thre|e'],
      [keys.right, '> oe two three|'],
      ['\u001bb', '> oe two |three'],
      ['\u001b[1;5D', '> oe |two three'],
      ['\u001bf', '> oe two| three'],
      ['\u001b[1;5C', '> oe two three|'],
      [keys.left, '> oe two thre|e'],
      [ctrl('t'), '> oe two three|'],
      [ctrl('w'), '> oe two |'],
      [ctrl('y'), '> oe two three|'],
      ['\u001b\u007f', '> oe two |'],
      [keys.home, '> |oe two '],
      ['\u001bd', '> | two '],
      [ctrl('k'), '> |'],
      [ctrl('y'), '> oe two |'],
      [keys.left, '> oe two| '],
      [ctrl('u'), '> | '],
      [keys.delete, '> |'],
      ['\u001f', '> | '],
      ['\u001f', '> oe two| '],
      [keys.end, '> oe two |'],
      [keys.backspace, '> oe two|'],
    ]
    for (const [typed, shown] of steps) {
      type(typed)
      expect(screen(), JSON.stringify(typed)).to.deep.equal([shown])
    }
  })

  it('moves to the start and the end of the whole text', () => {
    const { type } = start()
    type('one\ntwo', '\u001b[1;5H').shows('> |one', '  two')
    type('\u001b[1;5F').shows('> one', '  two|')
    type('\u001b<').shows('> |one', '  two')
    type('\u001b>').shows('> one', '  two|')
  })

  it('reports the keys that are for the session', () => {
    const { type, editor } = start()
    type('x', ctrl('z')).gives({ type: 'suspend' })
    type(ctrl('g'), ctrl('l')).gives({ type: 'edit-outside' }, { type: 'clear-screen' })
    expect(editor.text).to.equal('x')
  })

  it('rings the bell if a key has no effect, and does not redraw', () => {
    const { type, take, changes } = start()
    for (const key of [
      ...[keys.backspace, keys.delete, keys.left, keys.right, keys.up, keys.down],
      ...[ctrl('w'), ctrl('y'), ctrl('t'), '\u001f', keys.tab],
    ]) {
      type(key)
      expect(take(), JSON.stringify(key)).to.deep.equal([{ type: 'bell' }])
    }
    expect(changes.count).to.equal(0)
    type('x', keys.delete).gives({ type: 'bell' })
  })

  describe('on Ctrl+C', () => {
    it('clears the text, which Up recalls', () => {
      const { type, editor } = start()
      type('a thought', ctrl('c')).gives({ type: 'interrupt', text: 'a thought' })
      expect(editor.text).to.equal('')
      type(keys.up).shows('> a thought|')
    })

    it('reports that there was no text', () => {
      for (const key of [ctrl('c'), '\u001b[99;5u']) start().type(key).gives({ type: 'interrupt', text: '' })
    })
  })

  it('ends on Ctrl+D if the text is empty, otherwise deletes forward', () => {
    const { type } = start()
    type('ab', keys.home, ctrl('d')).gives().shows('> |b')
    type(ctrl('d')).gives().shows('> |')
    type(ctrl('d')).gives({ type: 'end' })
  })

  describe('on Up and Down', () => {
    it('moves between the rows on the screen and keeps the column', () => {
      const { type, screen } = start()
      type('abcdefghij\nk\n世界世界')
      screen(10)
      type(keys.up, keys.up)
      expect(screen(10)).to.deep.equal(['> abcdefg', '  hij', '  k|', '  世界世', '  界'])
      type(keys.left, keys.right, keys.up)
      expect(screen(10)).to.deep.equal(['> abcdefg', '  h|ij', '  k', '  世界世', '  界'])
      type(keys.end, keys.down, keys.down)
      expect(screen(10)).to.deep.equal(['> abcdefg', '  hij', '  k', '  世|界世', '  界'])
    })

    it('recalls whole entries from the first and the last row, and restores the draft', () => {
      const { type } = start(['first', 'one\ntwo'])
      type('draft', keys.up).shows('> one', '  two|')
      type(keys.up, keys.up).shows('> first|')
      type(keys.up).gives({ type: 'bell' })
      type(keys.down, keys.down).shows('> draft|')
      type(keys.down).gives({ type: 'bell' })
    })

    it('starts from the column of the recalled entry', () =>
      start(['a longer line\nab']).type('draft', keys.up, keys.up).shows('> a |longer line', '  ab'))

    it('supports Ctrl+P and Ctrl+N in the same way', () => {
      const { type } = start(['first', 'second'])
      type('x', ctrl('p'), ctrl('p')).shows('> first|')
      type(ctrl('n'), ctrl('n')).shows('> x|')
    })

    it('keeps changes to an entry until a submission', () => {
      const { type } = start(['first', 'second'])
      type(keys.up, '!', keys.up, keys.down).shows('> second!|')
      type(keys.enter, keys.up, keys.up).gives({ type: 'submit', text: 'second!' }).shows('> second|')
    })

    it('moves past the rows of a paste label', () => {
      const { type, screen } = start(['first'])
      type('ab', paste('x\n'.repeat(42)), 'cd')
      expect(screen(8)).to.deep.equal(['> ab[pa', '  sted ', '  42 li', '  nes]c', '  d|'])
      type(keys.up, keys.up)
      expect(screen(8)[0]).to.equal('> a|b[pa')
      type(keys.down)
      expect(screen(8)[3]).to.equal('  nes]|c')
      type(keys.up, keys.up)
      expect(screen(10)).to.deep.equal(['> first|'])
    })
  })

  describe('on Ctrl+R', () => {
    const entries = ['git log', 'make build', 'git status', 'Greet the World', 'git status']

    it('searches backward while the query is typed', () => {
      const { type } = start(entries)
      type('draft', ctrl('r')).shows('> draft', 'search: |')
      type('git').shows('> git status', 'search: git|')
      type(' l').shows('> git log', 'search: git l|')
      type(keys.backspace, keys.backspace).shows('> git status', 'search: git|')
    })

    it('continues with the next different entry', () => {
      const { type } = start(entries)
      type(ctrl('r'), 'git', ctrl('r')).shows('> git log', 'search: git|')
      type(ctrl('r')).gives({ type: 'bell' }).shows('> git log', 'search: git| (no match)')
    })

    it('shows the query even if nothing is found', () => {
      const { type, take, changes } = start(entries)
      type(ctrl('r'))
      const { count } = changes
      type('zzz')
      expect(changes.count).to.equal(count + 1)
      expect(take()).to.deep.equal([{ type: 'bell' }])
    })

    it('ignores case for lowercase letters in the query, and respects uppercase letters', () => {
      const { type, screen } = start(entries)
      type(ctrl('r'), 'world')
      expect(screen()[0]).to.equal('> Greet the World')
      type(keys.escape, ctrl('r'), 'Git').shows('> ', 'search: Git| (no match)')
    })

    it('puts the entry into the buffer on Enter without submitting it', () => {
      const { type } = start(entries)
      type('draft', ctrl('r'), 'make', keys.enter).shows('> make build|').gives()
      type(keys.enter).gives({ type: 'submit', text: 'make build' })
    })

    for (const [name, key] of [
      ['Escape', keys.escape],
      ['Ctrl+C', ctrl('c')],
      ['Ctrl+G', ctrl('g')],
    ] as const)
      it(`restores the draft on ${name}`, () =>
        start(entries).type('draft', keys.left, ctrl('r'), 'make', key).shows('> draf|t').gives())

    it('accepts the entry on any other key, and handles that key', () =>
      start(entries).type(ctrl('r'), 'make', keys.home).shows('> |make build'))

    it('keeps the draft if nothing was found', () =>
      start(entries).type('draft', ctrl('r'), 'zzz', keys.enter).shows('> draft|'))

    it('searches for pasted text, and shows the end of a long query', () => {
      const { type, screen } = start(entries)
      type(ctrl('r'), paste('one\ntwo three four five six'))
      expect(screen(20)[1]).to.equal('search: ur five six|')
      expect(screen(10)[1]).to.equal('? ive six|')
    })

    it('shows the row of a long entry that contains the match', () => {
      const { type, screen } = start([Array.from({ length: 30 }, (_, index) => `row ${index}`).join('\n')])
      type(ctrl('r'), 'row 20')
      expect(screen(40, 3)).to.include('… row 20')
    })
  })

  describe('on Tab', () => {
    const commands = ['/help ', '/history ', '/new ']
    const complete = (before: string): Completions => ({
      start: before.lastIndexOf(' ') + 1,
      candidates: commands.filter((command) => command.startsWith(before.slice(before.lastIndexOf(' ') + 1))),
    })

    it('inserts the only candidate', () => start([], complete).type('/n', keys.tab).shows('> /new |'))

    it('completes the word before the cursor in its line', () => {
      const { type } = start([], complete)
      type('one\nsay /n x', keys.left, keys.left, keys.tab).shows('> one', '  say /new | x')
    })

    it('inserts the common prefix of several candidates, and lists them', () => {
      const { type } = start([], () => ({ start: 0, candidates: ['model-a', 'model-b'] }))
      type('m', keys.tab).shows('> model-|', 'model-a  model-b')
    })

    it('never shortens the typed text', () => {
      const { type } = start([], () => ({ start: 0, candidates: ['alpha', 'beta'] }))
      type('a', keys.tab).shows('> a|', 'alpha  beta')
    })

    it('cycles through the candidates with Tab, and back with Shift+Tab', () => {
      const { type } = start([], complete)
      type('/h', keys.tab).shows('> /h|', '/help     /history')
      type(keys.tab).shows('> /help |', '*/help*     /history')
      type(keys.tab).shows('> /history |', '/help     */history*')
      type(keys.tab, keys.backTab).shows('> /history |', '/help     */history*')
    })

    it('closes the list on any other key', () => {
      const { type } = start([], complete)
      type('/h', keys.tab, 'i').shows('> /hi|')
      type(keys.backspace, keys.tab, keys.escape).shows('> /h|').gives()
    })

    it('closes the list on a key without effect', () => {
      const { type, take, changes } = start([], () => ({ start: 0, candidates: ['alpha', 'beta'] }))
      type(keys.tab)
      const { count } = changes
      type(keys.backspace).shows('> |')
      expect(changes.count).to.equal(count + 1)
      expect(take()).to.deep.equal([{ type: 'bell' }])
    })

    it('shows how many candidates do not fit', () => {
      const names = Array.from({ length: 30 }, (_, index) => `name-${String(index).padStart(2, '0')}`)
      const { type, screen } = start([], () => ({ start: 0, candidates: names }))
      type('n', keys.tab)
      expect(screen(20, 6)).to.deep.equal(['> name-|', 'name-00  name-01', 'name-02  name-03', '… 26 more'])
      type(keys.backTab)
      const shown = screen(20, 6)
      expect(shown).to.deep.equal(['> name-29|', 'name-26  name-27', 'name-28  *name-29*', '… 26 more'])
      expect(screen(20, 1)).to.deep.equal(['> name-29|'])
    })

    it('truncates a candidate that is wider than the terminal, and removes control characters', () => {
      const { type, screen } = start([], () => ({
        start: 0,
        candidates: ['x\u001b[31m1234567890', 'x世界世界世界'],
      }))
      type('x', keys.tab)
      expect(screen(10)).to.deep.equal(['> x|', 'x[31m123…', 'x世界世…'])
    })

    it('inserts a candidate that arrives later', async () => {
      const { type, screen, changes } = start([], async (before) => complete(before))
      type('/n', keys.tab)
      const { count } = changes
      await new Promise(setImmediate)
      expect(screen()).to.deep.equal(['> /new |'])
      expect(changes.count).to.equal(count + 1)
    })

    it('requests candidates once while it waits', async () => {
      let asked = 0
      const { type, screen } = start([], async (before) => {
        asked++
        return complete(before)
      })
      type('/n', keys.tab, keys.tab)
      await new Promise(setImmediate)
      expect(screen()).to.deep.equal(['> /new |'])
      expect(asked).to.equal(1)
    })

    it('discards candidates that arrive after another key', async () => {
      const { type, take, screen, editor } = start([], async (before) => complete(before))
      type('/n', keys.tab, 'x')
      await new Promise(setImmediate)
      expect(screen()).to.deep.equal(['> /nx|'])
      type(keys.backspace, keys.tab)
      editor.setText('/n')
      await new Promise(setImmediate)
      expect(screen()).to.deep.equal(['> /n|'])
      expect(take()).to.deep.equal([])
    })

    it('rings the bell if there is no candidate, or the request fails', async () => {
      const { type, take } = start([], (before) =>
        before === 'a' ? Promise.reject(new Error('away')) : complete(before),
      )
      type('a', keys.tab)
      await new Promise(setImmediate)
      expect(take()).to.deep.equal([{ type: 'bell' }])
      type('b', keys.tab).gives({ type: 'bell' })
    })
  })

  it('accepts a text from outside, with the cursor at its end', () => {
    const { editor, type, screen } = start()
    type('x', ctrl('r'))
    editor.setText('one\r\ntwo')
    expect(screen()).to.deep.equal(['> one', '  two|'])
    expect(editor.text).to.equal('one\ntwo')
  })

  it('stays within the rows and columns of a small terminal for any keys', () => {
    const typed = fc.oneof(
      fc.constantFrom(
        ...Object.values(keys).filter((key) => key !== keys.enter),
        ...'abdefgklnprtuwy'.split('').map(ctrl),
        '\u001f',
        '\u001bb',
        '\u001bd',
      ),
      fc.constantFrom(
        ...['a', '世', '👩‍👩‍👧', '\u0301', 'one two '],
        paste('x\n'.repeat(12)),
        paste('a\tb\nc'),
        paste('🇩🇪🇩ᄀᄀᄀ\u200d\u202e\u2028क्षि'),
      ),
    )
    forAllTimes(
      2,
      fc.array(typed, { maxLength: 40 }),
      fc.integer({ min: 1, max: 24 }),
      fc.integer({ min: 1, max: 6 }),
      (all, columns, rows) => {
        const { type, editor } = start(['one', 'two\n世界'], () => ({
          start: 0,
          candidates: ['alpha 世界', 'beta'],
        }))
        for (const one of all) {
          type(one)
          const { lines, cursor } = editor.view(columns, rows)
          expect(lines.length).to.be.within(1, rows)
          for (const line of lines) expect(stringWidth(line.replaceAll('*', '')), line).to.be.at.most(columns)
          expect(cursor.row).to.be.within(0, lines.length - 1)
          expect(cursor.column).to.be.within(0, columns - 1)
        }
      },
    )
  })
})
