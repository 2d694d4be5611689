// Syntax that is not allowed, each with a sentence that says what to do instead.

const environment = 'Read it in a configuration class (libs/platform/src/config): process.env is used nowhere else.';
const sql = 'Apps contain no SQL: move it to a function of a domain lib, and call that function.';
const raw = 'A controller reads a request by parameter decorators (platform/src/http, access/src/requests).';
const alias = 'Rows are read in camelCase: write AS run_seconds, or no alias if the column already has the name.';
const aliasText = String.raw`/\bAS\s+"[a-z]\w*[A-Z]\w*"/`;
const sqlText = String.raw`/^\s*(SELECT|WITH|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|DROP|TRUNCATE)\s/`;

const syntax = {
  environment: [
    'MemberExpression[object.name="process"][property.name="env"]',
    'MemberExpression[object.name="process"][property.value="env"]',
    'VariableDeclarator[init.name="process"] > ObjectPattern > Property[key.name="env"]',
    'ImportDeclaration[source.value=/^(node:)?process$/] > ImportSpecifier[imported.name="env"]',
  ].map((selector) => ({ selector, message: environment })),
  exports: [
    {
      selector: 'ExportAllDeclaration',
      message: 'List the exported names: an index lists its exports.',
    },
    {
      selector: 'ExportDefaultDeclaration, ExportSpecifier[exported.name="default"]',
      message: 'Use a named export.',
    },
  ],
  raw: [
    {
      selector:
        'ImportDeclaration[source.value="@nestjs/common"] > ImportSpecifier[imported.name=/^(Req|Request|Res|Response)$/]',
      message: raw,
    },
  ],
  aliases: [`Literal[value=${aliasText}]`, `TemplateElement[value.raw=${aliasText}]`].map((selector) => ({
    selector,
    message: alias,
  })),
  sql: [`Literal[value=${sqlText}]`, `TemplateElement:first-child[value.raw=${sqlText}]`].map((selector) => ({
    selector,
    message: sql,
  })),
};

/** Returns a no-restricted-syntax setting for these groups. */
export function listShunnedSyntax(...groups) {
  return ['error', ...groups.flatMap((group) => syntax[group])];
}
