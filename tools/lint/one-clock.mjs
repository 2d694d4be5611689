// A moment has one source: what a statement dates, or compares with a date, is the moment of its transaction.
const ownClock = /(?<![\w.])(now|clock_timestamp|transaction_timestamp|statement_timestamp)\(\)|\bCURRENT_TIMESTAMP\b/;

export const oneClock = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      own: 'This is the database’s own clock. Write muster_now(), the moment of the transaction by the service’s clock (after a wait for a lock: muster_clock()), or say in a comment that disables this rule why it must be the database’s.',
    },
  },
  create(context) {
    const check = (node, text) => ownClock.test(text) && context.report({ node, messageId: 'own' });
    return {
      Literal: (node) => typeof node.value === 'string' && check(node, node.value),
      TemplateElement: (node) => check(node, node.value.raw),
    };
  },
};
