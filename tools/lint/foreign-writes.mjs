// Reports statements that write a table of another lib, in SQL and through TypeORM. Other projects call a function of
// the owning lib and pass their transaction. Every project may read and lock every table.
import { ownerOf, listEntityTables } from './table-owners.mjs';

const table = String.raw`(?:(?:only|table)\s+)*(?:"?\w+"?\.)?("?\w+"?|\$\{\})`;
const writes = [
  String.raw`\binsert\s+into\s+${table}`,
  String.raw`\bmerge\s+into\s+${table}`,
  String.raw`\bdelete\s+from\s+${table}`,
  String.raw`\btruncate\s+${table}`,
  String.raw`\bcopy\s+${table}\s*(?:\([^)]*\)\s*)?from\b`,
  String.raw`\bupdate\s+${table}(?:\s+(?:as\s+)?\w+)?\s+set\b`,
].map((pattern) => new RegExp(pattern, 'gi'));
/** A statement that continues in another string, so that this rule cannot find the table. */
const cutOff = /\b(INSERT\s+INTO|DELETE\s+FROM|(?<!(FOR|KEY|DO)\s+)UPDATE|TRUNCATE)\s+$/;
const managerWrites =
  /^(insert|update|upsert|delete|remove|softDelete|softRemove|restore|recover|save|increment|decrement|clear|into)$/;

export const foreignWrites = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      foreign: 'The table {{table}} is written by {{owner}} only: call one of its functions with your transaction.',
      unowned: 'The table {{table}} has no owner: add it to tools/lint/table-owners.mjs.',
      unseen: 'Write the table name in this statement, so that its owner can be checked.',
    },
  },
  create(context) {
    const lib = /.*\/((?:apps|libs)\/[\w-]+)\/src\//.exec(context.filename)?.[1]?.replace('libs/', '');
    const entities = listEntityTables();

    function checkTable(node, name, isSure) {
      const owner = ownerOf[name];
      if (owner && owner !== lib) context.report({ node, messageId: 'foreign', data: { table: name, owner } });
      if (!owner && isSure) context.report({ node, messageId: 'unowned', data: { table: name } });
    }

    function checkText(node, text) {
      for (const pattern of writes) {
        for (const [statement, found] of text.matchAll(pattern)) {
          const name = found.replaceAll('"', '');
          // SQL keywords are in capitals in this repository; lower-case text may be prose.
          const isSql = /^[A-Z]+ /.test(statement.replace(/\s+/g, ' '));
          if (name !== '${}') checkTable(node, name.toLowerCase(), isSql);
          else if (isSql) context.report({ node, messageId: 'unseen' });
        }
      }
      if (cutOff.test(text)) context.report({ node, messageId: 'unseen' });
    }

    function checkCall(node) {
      const { callee, arguments: args } = node;
      const method = callee.type === 'MemberExpression' ? callee.property.name : callee.name;
      const written = entities[args[0]?.name];
      if (/^(getRepository|InjectRepository)$/.test(method) && written) return checkTable(node, written, true);
      if (callee.type !== 'MemberExpression' || !managerWrites.test(method)) return;
      if (written) return checkTable(node, written, true);
      const before = context.sourceCode.getText(callee.object);
      const built = /createQueryBuilder\(\s*(\w+)/.exec(before)?.[1];
      if (built && entities[built]) checkTable(node, entities[built], true);
      // The entity of a saved object is not visible in the source text.
      else if (/\bmanager$/.test(before)) context.report({ node, messageId: 'unseen' });
    }

    function checkDeletion(node) {
      const { callee, arguments: args } = node;
      const isDeletion = /\.(delete|softDelete)\(\s*\)$/.test(context.sourceCode.getText(callee.object ?? callee));
      if (callee.property?.name === 'from' && isDeletion && entities[args[0]?.name]) {
        checkTable(node, entities[args[0].name], true);
      }
    }

    return {
      Literal(node) {
        if (typeof node.value === 'string') checkText(node, node.value);
      },
      TemplateLiteral(node) {
        checkText(node, node.quasis.map(({ value }) => value.cooked).join('${}'));
      },
      CallExpression(node) {
        checkCall(node);
        checkDeletion(node);
      },
    };
  },
};
