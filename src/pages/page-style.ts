/** The look of every page that we show: colours for light and dark, a card in the middle, text. */
export const pageStyle = `
:root{color-scheme:light dark;--ground:#f4f5f7;--card:#fff;--edge:#e3e6eb;--ink:#16191d;--soft:#57606a;--shade:0 1px 2px #10182810,0 12px 32px -8px #1018281f}
@media (prefers-color-scheme:dark){
:root{--ground:#0e1116;--card:#171b21;--edge:#2a3038;--ink:#eef1f4;--soft:#a3adb8;--shade:0 16px 40px -8px #0009}
}
*{box-sizing:border-box;margin:0}
body{min-height:100vh;min-height:100dvh;display:grid;place-items:center;padding:24px;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;-webkit-font-smoothing:antialiased;-webkit-text-size-adjust:100%}
main{width:100%;max-width:416px;padding:48px 40px 28px;border:1px solid var(--edge);border-radius:20px;background:var(--card);box-shadow:var(--shade)}
h1{font-size:1.625rem;line-height:1.25;font-weight:650;letter-spacing:-.015em;text-wrap:balance}
footer{margin-top:36px;padding-top:20px;border-top:1px solid var(--edge);color:var(--soft);font:13px/1.4 ui-monospace,"SF Mono",Menlo,Consolas,monospace;text-align:center}
@media (max-width:460px){body{padding:16px}main{padding:40px 24px 24px}}
`
