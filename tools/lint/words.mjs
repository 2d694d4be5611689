// Words that pages and the command line do not use, each with the common term to use instead.
const shunned = [
  [/\bgiven up\b/i, '“dead letters”, or “failed”'],
  [/\b(?:was|were|been|be|is|are) told\b/, 'who does what: “notified”, “asked to stop”, “requested”, “updated”'],
  [/\bnot heard of\b/, '“never connected”, or “no heartbeat for …”'],
  [/\bgiven to the (?:agent|worker)\b|\bGive it to the\b/, '“sent to the agent”'],
  [/(?<![\w’])Its runs\b/, '“Runs”, or “View runs”'],
  [/['">]Because['"<]/, '“Reason”'],
  [/\b[Ww]hat work is worth\b/, '“Savings estimate”'],
  [/\b[Cc]osts at most\b/, '“Cost limit”'],
  [/\bfrom a film\b/, '“from video”'],
  [/\ba job of it\b/, '“a run”'],
  [/\bshown this once\b/, '“shown only now”'],
  [/\b(?:is|are) made[.;:'"`<]/, '“created”, or “ready”'],
  [/\d (?:USD|input token|hour)\b|\$\{[^}]+\} (?:USD|hour)\b/, 'formatMoney, or counted(n, …)'],
];
const places = /^apps\/(?:console|cli)\/src\/.*\.tsx?$/;

/** Returns a line for each match of a pattern of `shunned` in a page or a command. Comments are not checked. */
export function findWordFaults(file, text) {
  if (!places.test(file) || /\.spec\.ts$/.test(file)) return [];
  return text.split('\n').flatMap((line, at) => {
    if (/^\s*(?:\/\/|\/?\*)/.test(line)) return [];
    return shunned
      .filter(([pattern]) => pattern.test(line))
      .map(([, instead]) => `${file}:${at + 1}: contains words that pages do not use; write ${instead}`);
  });
}
