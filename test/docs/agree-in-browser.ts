import { Browser } from '../service/oauth/browser.ts'
import { openPage } from '../support/sign-in-by-http.ts'

/** A browser with a person at it, who signs in: `node agree-in-browser.ts EMAIL PASSWORD URL`. */

const [email = '', password = '', url = ''] = process.argv.slice(2)
const browser = new Browser()
const page = await browser.open(url)
const consent = await browser.submit(page, { email, password, decision: 'allow' })
await openPage((await browser.submit(consent, { decision: 'allow' })).url)
