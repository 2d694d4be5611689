// Operations that a migration may not perform on a table with data, because they lock the table for their whole
// duration or wait for a lock without a limit. Each message says what to do instead. Tables that the migration itself
// creates are not checked.
const folder = /^libs\/database\/src\/migrations\/(\d+-[\w-]+)\.ts$/;

/**
 * Migrations from before this rule. On a database with much data, each locks a table for its whole duration, so it is
 * run during a downtime that its release announces. Do not add new ones.
 */
export const exempt = new Set([
  '1763700000000-agents-and-jobs',
  '1763710000000-agent-control',
  '1763720000000-schedules',
  '1763730000000-idle-and-watchdog',
  '1763760000000-recordings',
  '1763784000000-recorded-browsers',
  '1763785000000-machine-orders',
  '1763786000000-claims-by-npi',
  '1763786000002-runs-by-start',
  '1763791000000-money',
  '1763793000002-roi-rollups',
  '1763794000000-budgets',
  '1763800000001-uncounted-runs',
  '1763802000000-lists-by-index',
  '1763802000002-last-launches',
  '1763802050000-purge-by-index',
  '1763803000000-prewake',
  '1763805000000-workflow-packs',
  '1763807050000-feedback-by-index',
  '1763807050001-feedback-fences',
  '1763810000000-imaging-pictures',
  '1763820000000-own-dead-letters',
  '1763820000001-sorted-runs',
  '1763820000002-organization-events',
  '1763820000003-batches-by-size',
  '1763820000100-session-faults',
  '1763820000101-assistant-retention',
  '1763822900000-autopilot-by-organization',
  '1763824000000-feedback-by-reference',
  '1763828000001-asked-deliveries',
  '1763829150000-idle-times-of-no-length',
  '1763831000000-sessions-that-end',
  '1763831000100-codes-that-need-nobody',
]);

const rules = [
  {
    pattern: /\bCREATE\s+(?:UNIQUE\s+)?INDEX\s+(?!CONCURRENTLY)[^;]*?\bON\s+(?:ONLY\s+)?(\w+|\$\{)/gi,
    fault:
      'blocks writes while it creates an index; use CREATE INDEX CONCURRENTLY in a migration with `transaction = false`, after SET lock_timeout = 0',
  },
  {
    pattern: /\bALTER\s+TABLE\s+(?:ONLY\s+)?(\w+|\$\{)[^;]*?\bALTER\s+(?:COLUMN\s+)?\w+\s+(?:SET\s+DATA\s+)?TYPE\b/gi,
    fault: 'rewrites the table; add a column, fill it page by page, and read the new column',
  },
  {
    pattern:
      /\bALTER\s+TABLE\s+(?:ONLY\s+)?(\w+|\$\{)[^;]*?\bADD\s+(?:COLUMN\s+)?(?!CONSTRAINT)\w+\s[^,;]*?(?:GENERATED\s+ALWAYS\s+AS\s*\(|DEFAULT\s+(?:gen_random_uuid|uuid_generate_v\d|random|clock_timestamp|muster_clock|nextval)\b|\b(?:big)?serial\b)/gi,
    fault:
      'rewrites the table for a value that differs in each row; add the column without it, and fill it page by page',
  },
  {
    pattern: /\bALTER\s+TABLE\s+(?:ONLY\s+)?(\w+|\$\{)[^;]*?\bSET\s+NOT\s+NULL\b/gi,
    fault:
      'reads the whole table while it is locked; add CHECK (… IS NOT NULL) NOT VALID, then VALIDATE CONSTRAINT, then SET NOT NULL',
    unless: /\bVALIDATE\s+CONSTRAINT\b/i,
  },
  {
    pattern:
      /\bALTER\s+TABLE\s+(?:ONLY\s+)?(\w+|\$\{)[^;]*?\bADD\s+CONSTRAINT\s+\S+\s+(?:CHECK|FOREIGN\s+KEY)\b(?![^;]*\bNOT\s+VALID\b)/gi,
    fault:
      'reads the whole table while it is locked; add the constraint NOT VALID, and VALIDATE CONSTRAINT in the next migration',
  },
  {
    pattern:
      /\bALTER\s+TABLE\s+(?:ONLY\s+)?(\w+|\$\{)[^;]*?\bADD\s+CONSTRAINT\s+\S+\s+(?:UNIQUE|PRIMARY\s+KEY)\b(?!\s+USING\s+INDEX)/gi,
    fault: 'blocks writes while it creates an index; create the index CONCURRENTLY, then ADD CONSTRAINT … USING INDEX',
  },
  {
    pattern: /(?:^|;|`|')\s*(?:UPDATE|DELETE\s+FROM)\s+(\w+|\$\{)(?![^;`]*\bLIMIT\b)/gim,
    fault: 'changes all rows in one statement; use a loop that fills them page by page and stores its position',
  },
  {
    pattern: /\bLOCK\s+(?:TABLE\s+)?(?:ONLY\s+)?(\w+|\$\{)[^;]*?\bMODE\b(?!\s+NOWAIT)/gi,
    fault: 'takes an explicit lock; use the statement that needs the lock, which waits only as long as migrations may',
  },
  {
    pattern: /\block_timeout\s*(?:=|TO)\s*'?0\b()/gi,
    fault:
      'waits for locks without a limit, and the service’s statements queue behind it; only CREATE INDEX CONCURRENTLY may do this, because nothing queues behind it',
    unless: /\btransaction\s*=\s*false\b[^]*\bCONCURRENTLY\b/i,
  },
];

/** Returns the locking operations of a migration's `up`. */
export function findLockingStatements(file, text) {
  const [, name] = folder.exec(file) ?? [];
  if (!name || exempt.has(name) || /\.spec$/.test(name)) return [];
  const source = removeDownMethod(text)
    .replace(/^\s*(?:\/\/|\/?\*).*$/gm, '')
    .replace(/--.*$/gm, '');
  const created = new Set(
    [...source.matchAll(/\bCREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)/gi)].map(([, table]) => table.toLowerCase()),
  );
  return rules.flatMap(({ pattern, fault, unless }) =>
    unless?.test(source)
      ? []
      : [...source.matchAll(pattern)]
          .filter(([, table]) => !created.has(table.toLowerCase()))
          .map(([, table]) => `${file}: ${table && table !== '${' ? `${table}: ` : ''}${fault}`),
  );
}

/** Removes the method `down` from the text of a migration, because it is used only in development. */
function removeDownMethod(text) {
  const at = text.search(/\n {2}async down\(/);
  if (at < 0) return text;
  const end = text.indexOf('\n  }', at);
  return text.slice(0, at) + text.slice(end);
}
