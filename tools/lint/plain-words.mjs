// Finds prose that a reader does not understand at first reading: private words, sentences without a subject,
// fragments.
// docs/glossary.md lists the terms of our own that are allowed.

/** Each pattern with the kind of text that it applies to and what to write instead. */
export const patterns = [
  { in: 'all', pattern: /\bwho(so|m)?ever\b/i, instead: 'name the role: the caller, the process, the worker' },
  {
    in: 'all',
    pattern: /\b(is|are|was|were|be|been|being) told\b(?! (apart|to)\b)/i,
    instead: 'notify, emit, report or return',
  },
  { in: 'all', pattern: /\btell(s|ing)? (of|what|whether)\b/i, instead: 'report, record or return' },
  { in: 'all', pattern: /\b(hears?|heard)\b/i, instead: 'receive or notice' },
  { in: 'all', pattern: /\banew\b/i, instead: 'again, from scratch, recompute' },
  { in: 'all', pattern: /\b(goes|go|going|went|gone) on\b/i, instead: 'continue, resume, keep running' },
  { in: 'all', pattern: /\b(became|becomes?|become) of\b/i, instead: 'outcome, result, state' },
  {
    in: 'all',
    pattern: /(?<!\bthere )\b(is|are|was|were) none\b/i,
    instead: '“is not a valid …”, “does not exist” or null',
  },
  {
    in: 'all',
    pattern: /(?<!\bthere )\b(is|are|was|were) no (?!longer\b|more\b)\w+/i,
    instead: '“is not a valid …” or “does not exist”',
  },
  {
    in: 'all',
    pattern: /\bsettl(e|es|ed|ing)\b/i,
    instead: 'process (a row), book (a cost), refresh (a rollup), resolve',
  },
  { in: 'all', pattern: /\b(lends?|lent|lending)\b/i, instead: 'presign, check out, mount read-only' },
  {
    in: 'all',
    pattern: /\b(breaks?|broke|broken|breaking) off\b/i,
    instead: 'abort, interrupt, “the connection is lost”',
  },
  {
    in: 'all',
    pattern: /\b(amid|nought|whence|thence|hence|afar|likewise|mends?|mended|in vain|same breath)\b/i,
    instead: 'a modern word',
  },
  {
    in: 'all',
    pattern: /\bwhere (there (is|are|was|were) (none|no|nothing|one)|none|nobody|nothing|it has none)\b/i,
    instead: '“if there is no …”, “null if absent”',
  },
  {
    in: 'comments',
    pattern:
      /(^|[.:;] )So (many|long|much|often|few)\b|\b(for|in|after|at|of|by) so (long|many|much)\b(?! (as|that)\b)/,
    instead: '“Maximum number of …”, “Time after which …”, with the unit',
  },
  { in: 'docs', pattern: /^(Of|As) /, instead: 'a noun phrase or a verb' },
  { in: 'docs', pattern: /^(What|Whose|Whom|Who) (?!.*\?)/, instead: 'a noun phrase or a verb' },
  {
    in: 'api',
    pattern: /^(What|Who|Whose|Which|Of|As|By|From|With|Likewise|The same)\b(?!.*\?)/,
    instead: 'an imperative verb for a summary, a noun phrase for a field',
  },
  {
    in: 'api',
    pattern: /^(It|They|Its|Their|One|Those|These|This|That)\b/,
    instead: 'the noun, because a field is read without its class',
  },
  {
    in: 'strings',
    pattern: /(^|[.:;] )Say (which|what|how|the|that|why|in)\b|^Say\b/,
    instead: 'specify, choose or enter',
  },
  {
    in: 'tests',
    pattern: /^(of|that|whose|because|and|to|what|beside|behind|as)\b/,
    instead: 'a rule that makes sense without its describe',
  },
  {
    in: 'sql',
    pattern:
      /\b(given|fresh|noted|told|kept|taken|mine|asked|made|looked_at|said|ours|theirs|was)\s+AS\s+(NOT\s+)?(MATERIALIZED\s+)?\(/,
    instead: 'a name that states what the rows are',
  },
];

/** Files that contain the unclear words because they define or test the patterns. */
export const aboutWords = ['tools/lint/{plain-words.mjs,words.mjs,words.spec.ts}'];

/** Names that do not describe the value. */
export const unclearNames = ['of', 'said', 'told', 'given', 'kept', 'heard', 'asked', 'fresh', 'anew', 'lent', 'hurry'];

/** Instructions for language models. They are not checked, because each word is tested with models. */
const prompts = /\/prompts\/[\w-]+\.md$/;

/** Returns a fault for each line of Markdown, YAML or a shell script that matches a pattern for all texts. */
export function findUnclearLines(file, text) {
  if (!/\.(md|ya?ml|sh)$/.test(file) || prompts.test(file)) return [];
  return text
    .split('\n')
    .flatMap((line, at) =>
      findUnclearPatterns(line, ['all']).map(
        ({ pattern, instead }) => `${file}:${at + 1}: “${pattern.exec(line)[0].trim()}”: write ${instead}`,
      ),
    );
}

const testFunctions = /^(it|test|describe)(\.\w+)*$/;

/** Returns the patterns that match a text of these kinds. */
export function findUnclearPatterns(text, kinds) {
  return patterns.filter((each) => kinds.includes(each.in) && each.pattern.test(text));
}

export const plainWords = {
  meta: { type: 'suggestion', schema: [], messages: { unclear: '“{{found}}”: write {{instead}}.' } },
  create(context) {
    const reportText = (node, text, kinds) => {
      for (const { pattern, instead } of findUnclearPatterns(text, kinds))
        context.report({ loc: node.loc, messageId: 'unclear', data: { found: pattern.exec(text)[0].trim(), instead } });
    };
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          const isDoc = comment.type === 'Block' && comment.value.startsWith('*');
          const text = comment.value
            .replace(/^\s*\*+ ?/gm, '')
            .replace(/\s+/g, ' ')
            .trim();
          if (!text.startsWith('eslint-')) reportText(comment, text, ['all', 'comments', ...(isDoc ? ['docs'] : [])]);
        }
      },
      Literal(node) {
        if (typeof node.value === 'string') reportText(node, node.value, getTextKinds(node));
      },
      TemplateElement(node) {
        reportText(node, node.value.cooked ?? '', getTextKinds(node.parent));
      },
      JSXText(node) {
        reportText(node, node.value.trim(), ['all', 'strings']);
      },
    };
  },
};

function getTextKinds(node) {
  const { parent } = node;
  if (parent.type === 'ImportDeclaration' || parent.type === 'ExportNamedDeclaration') return [];
  const isTestName =
    parent.type === 'CallExpression' && parent.arguments[0] === node && testFunctions.test(getCalleeName(parent));
  const isApi = parent.type === 'Property' && ['summary', 'description'].includes(parent.key.name);
  return ['all', 'strings', 'sql', ...(isTestName ? ['tests'] : []), ...(isApi ? ['api'] : [])];
}

function getCalleeName({ callee }) {
  const names = [];
  let each = callee;
  while (each.type === 'CallExpression') each = each.callee;
  for (; each.type === 'MemberExpression'; each = each.object) names.unshift(each.property.name);
  return [each.name, ...names].join('.');
}
