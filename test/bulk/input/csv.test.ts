import { expect } from 'chai'
import { parse } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'
import fc from 'fast-check'
import { failureOf, faultsOf, rowsOf, textInput } from './text-input.ts'

const cell = fc.string({ unit: fc.constantFrom(...'ab"",;\n\r é😀\'') })
/** The first cell of each row makes sure that the row is not a blank line, which is ignored. */
const table = fc.array(fc.tuple(fc.constant('key'), cell, cell, cell), { minLength: 1, maxLength: 12 })
const columns = ['metadata.key', 'metadata.a', 'metadata.b', 'email']

async function cellsOf(text: string): Promise<(readonly string[])[]> {
  return (await rowsOf(textInput('csv', text))).map(({ csv }) => csv?.cells ?? [])
}

describe('a CSV file', () => {
  it('is read correctly with any quoting, and line endings', async () => {
    const options = fc.record({
      quoted: fc.boolean(),
      delimiter: fc.constantFrom(',', ';', '\t'),
      record_delimiter: fc.constantFrom('\n', '\r\n'),
      eof: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(table, options, async (rows, given) => {
        // Line breaks must be quoted. csv-stringify does that only for its own delimiter.
        const text = stringify([columns, ...rows], { quoted_match: /[\r\n]/, ...given })
        expect(await cellsOf(text)).to.deep.equal(rows)
      }),
    )
  })

  it('is read as csv-parse reads it, or both report invalid quotes', async () => {
    const lines = fc.string({ unit: fc.constantFrom(...'ab""",,\n'), maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(lines, async (text) => {
        const whole = `email\n${text}\nlast\n`
        let expected: string[][] | undefined
        try {
          expected = parse(whole, { relax_column_count: true, skip_records_with_empty_values: true })
        } catch {
          // The quotes are invalid.
        }
        const rows = await rowsOf(textInput('csv', whole))
        if (expected) expect(rows.map(({ csv }) => csv?.cells)).to.deep.equal(expected.slice(1))
        else expect(rows.some(({ csv }) => csv?.cells.length === 0)).to.equal(true)
      }),
      { numRuns: 2 * (fc.readConfigureGlobal().numRuns ?? 100) },
    )
  })

  it('has the position of each fault at the beginning of its field', async () => {
    await fc.assert(
      fc.asyncProperty(table, async (rows) => {
        const broken = rows.map((row) => row.map((value, index) => (index === 3 ? 'no address' : value)))
        const text = stringify([columns, ...broken], { quoted_match: /[\r\n]/ })
        const found = (await rowsOf(textInput('csv', text))).flatMap(({ faults }) => faults)
        expect(found.length).to.equal(rows.length)
        const lines = text.split('\n')
        for (const { line, column } of found) {
          const characters = lines[line - 1] ?? ''
          expect(characters.slice(column - 1)).to.match(/^"?no address"?\r?$/)
          expect(characters[column - 2]).to.equal(',')
        }
      }),
    )
  })

  it('has rows with line numbers that count blank lines and quoted line breaks', async () => {
    const text = 'email,name\n\na@x,"1\n2\r\n3"\r\n\r\nb@x,\nc@x,z'
    const rows = await rowsOf(textInput('csv', text))
    expect(rows.map(({ line, raw, row }) => [line, raw, row])).to.deep.equal([
      [3, 'a@x,"1\n2\r\n3"', { email: 'a@x', name: '1\n2\r\n3' }],
      [7, 'b@x,', { email: 'b@x' }],
      [8, 'c@x,z', { email: 'c@x', name: 'z' }],
    ])
  })

  it('of a spreadsheet may have semicolons, rows of empty cells, or lines that end with CR', async () => {
    const first = { email: 'a@x', role: 'editor', permissions: ['a:b', 'c:d'] }
    for (const [text, ...lines] of [
      [';;\nemail;role;permissions\n;;\na@x;editor;"a:b;c:d"\n;;\n;;\n"b@x"; ;\n;\n', 4, 7],
      ['email\trole\tpermissions\r\n\t\t\r\na@x\teditor\ta:b;c:d\r\n\r\n\r\nb@x\t\t\r\n', 3, 6],
      ['email,role,permissions\r,"",\r"a@x",editor,a:b;c:d\r,,\r,,\rb@x,"",\r', 3, 6],
    ] as const) {
      const rows = await rowsOf(textInput('csv', text))
      expect(rows.map(({ line, index }) => [line, index])).to.deep.equal(lines.map((line, at) => [line, at]))
      expect(rows.map(({ row }) => row)).to.deep.equal([first, { email: 'b@x' }])
    }
    expect(await faultsOf('csv', 'email;name\n"a@x";"b\n";\n')).to.deep.equal([
      '3:3 3 fields, but the header has 2',
    ])
  })

  it('has rows without the fields whose cells are empty', async () => {
    const header =
      'id,email,name,password,role,permissions,metadata.a,metadata.b.c,settings.theme,settings.notifications_enabled'
    const text = ',a@x,A,pw,editor,read:chat; write:chat;,1,,dark,ON\n7,,,,,,,x,,false\n'
    const rows = await rowsOf(textInput('csv', `${header}\n${text}`))
    expect(rows.map(({ row }) => row)).to.deep.equal([
      {
        ...{ email: 'a@x', name: 'A', password: 'pw', role: 'editor', metadata: { a: '1' } },
        permissions: ['read:chat', 'write:chat'],
        settings: { theme: 'dark', notifications_enabled: true },
      },
      { id: '7', metadata: { 'b.c': 'x' }, settings: { notifications_enabled: false } },
    ])
  })

  it('is read the same with spaces around the names of columns, email addresses, IDs, and roles', async () => {
    const text = ' email , NAME,Metadata.Seats\n  A@x\t, A ,  5\n" b@x ",,\n'
    const [first, second] = await rowsOf(textInput('csv', text))
    expect(first?.row).to.deep.equal({ email: 'A@x', name: ' A ', metadata: { Seats: '  5' } })
    expect(second?.row).to.deep.equal({ email: 'b@x' })
    const [assigned] = await rowsOf(textInput('csv', 'id, role\n 7 , editor\n'), 'assignments')
    expect(assigned?.row).to.deep.equal({ id: '7', role: 'editor' })
    expect(await faultsOf('csv', 'email,name\n  ,A\n')).to.deep.equal([
      '2:1 email is missing: a row without an id creates a user',
    ])
  })

  it('reports each value at its cell that is not JSON, or a number that a double cannot represent', async () => {
    const deep = `${'['.repeat(200)}${']'.repeat(200)}`
    const cells = ['five', '[1', '{""a"":1,""a"":2}', '{""__proto__"":1}', '1 2', '9007199254740993', deep]
    const text = `email,name,metadata.seats:=\n${cells.map((cell, index) => `u${index}@x,é😀,"${cell}"`).join('\n')}\n`
    expect(await faultsOf('csv', text)).to.deep.equal([
      '2:10 invalid JSON: expected a JSON value; for text, name the column "metadata.seats"',
      '3:10 invalid JSON: expected a comma or ]',
      '4:10 duplicate key "a"',
      '5:10 the key "__proto__" is not allowed',
      '6:10 invalid JSON: unexpected text after the end of the JSON value; for text, name the column "metadata.seats"',
      '7:10 a number must be at most 9007199254740991: put a longer one in quotes',
      '8:10 invalid JSON: nested too deeply',
    ])
  })

  it('loses no row after one with invalid quotes', async () => {
    const text = 'email,name\na@x,"open\nb@x,"fine"\nc@x,"x"y\nd@x,x"y\ne@x,fine\nf@x,"open'
    expect(await faultsOf('csv', text)).to.deep.equal([
      '2:5 unclosed quote',
      '4:8 unexpected text after the closing quote',
      '5:6 unexpected quote: a field with a quote must begin with one',
      '7:5 unclosed quote',
    ])
    const rows = await rowsOf(textInput('csv', text))
    expect(rows.flatMap(({ row }) => row?.email ?? [])).to.deep.equal(['b@x', 'e@x'])
  })

  it('has each unclosed quote reported, however long it is', async () => {
    const text = `email,name\na@x,"open\n${'b@x,fine and long\n'.repeat(90_000)}c@x,"\n`
    const rows = await rowsOf(textInput('csv', text))
    expect(rows.length).to.equal(90_002)
    expect(rows.filter(({ faults }) => faults.length > 0).map(({ line }) => line)).to.deep.equal([2, 90_003])
  })

  it('has a message for each kind of fault', async () => {
    const header = 'id,email,password,permissions,settings.notifications_enabled'
    const rows = ['x,,pw,read,maybe', 'y,,,,', '..,,,a:b,', ',,pw,,', ',a@x', ',a@x,,,,6,7', ',a b@x,,;,']
    expect(await faultsOf('csv', [header, ...rows].join('\n'))).to.deep.equal([
      '2:4 password cannot be changed: the row has an id',
      '2:7 permission "read" must have the form <action>:<resource>, such as read:chat',
      '2:12 settings.notifications_enabled must be on, off, true, or false',
      '4:1 the id must not be ".."',
      '5:1 email is missing: a row without an id creates a user',
      '6:1 2 fields, but the header has 5',
      '7:9 7 fields, but the header has 5',
      '8:2 "a b@x" is not a valid email address',
      '8:9 permission "" must have the form <action>:<resource>, such as read:chat',
    ])
  })

  it('of assignments has IDs, roles, and permissions only', async () => {
    const expected = ['3:1 id is missing', '4:1 the row has only an id']
    expect(await faultsOf('csv', 'id,role\n1,a\n,b\n3,\n', 'assignments')).to.deep.equal(expected)
    const failure = await failureOf(() => rowsOf(textInput('csv', 'id,email\n1,a@x'), 'assignments'))
    expect(failure.message).to.equal('rows:1:4: unknown column "email"')
  })

  const headers: [string, string, RegExp | undefined][] = [
    ['emial,name\nx', 'rows:1:1: unknown column "emial"', /"email"/],
    ['\n\nemail,"na\nme"\n', 'rows:3:7: unknown column "na\\nme"', /^Did you mean "name"/],
    ['email,name,email\n', 'rows:1:12: duplicate column "email"', undefined],
    ['email,name, Email\n', 'rows:1:12: duplicate column "Email"', undefined],
    ['email,metadata.a,metadata.a:=\n', 'rows:1:18: duplicate column "metadata.a:="', undefined],
    ['email,metadata. := \n', 'rows:1:7: unknown column "metadata. :="', /^Did you mean "metadata"/],
    ['E-Mail\n', 'rows:1:1: unknown column "E-Mail"', /^Did you mean "email"/],
    ['email,name:=\n', 'rows:1:7: unknown column "name:="', /^Did you mean "name"/],
    ['email;"metadata.a,b";nome\n', 'rows:1:22: unknown column "nome"', /^Did you mean "name"/],
    ['email,metadata.__proto__\n', 'rows:1:7: unknown column "metadata.__proto__"', /Known columns/],
    ['name\nx', 'rows:1:1: missing column: email or id is required', undefined],
    ['email,"name\nx', 'rows:1:7: unclosed quote', undefined],
    ['email,name\n', 'rows contains no users', undefined],
    ['\n', 'rows contains no users', undefined],
    ['', 'rows contains no users', undefined],
  ]
  for (const [text, message, hint] of headers)
    it(`is refused as a whole: ${JSON.stringify(text)}`, async () => {
      const failure = await failureOf(() => rowsOf(textInput('csv', text)))
      expect(failure).to.include({ kind: 'refused', message })
      if (hint) expect(failure.hint).to.match(hint)
      else expect(failure.hint).to.equal(undefined)
    })

  it('is refused if a line is longer than 1 MiB', async () => {
    const failure = await failureOf(() => rowsOf(textInput('csv', `email\nb@x\n${'a'.repeat(2_000_000)}`)))
    expect(failure.message).to.equal('rows:3: the row is longer than 1 MiB')
  })
})
