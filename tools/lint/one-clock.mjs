// Time has one source, the service's clock, because a time that one process stores is compared with the time of
// another.
// `oneClock` enforces this in SQL, and `serviceClock` in the code of the libs.
const ownClock = /(?<![\w.])(now|clock_timestamp|transaction_timestamp|statement_timestamp)\(\)|\bCURRENT_TIMESTAMP\b/;

export const oneClock = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      own: 'This is the database’s own clock. Use muster_now(), the time of the transaction on the service’s clock (after waiting for a lock: muster_clock()), or disable this rule with a comment that states why the database’s clock is required.',
    },
  },
  create(context) {
    const checkText = (node, text) => ownClock.test(text) && context.report({ node, messageId: 'own' });
    return {
      Literal: (node) => typeof node.value === 'string' && checkText(node, node.value),
      TemplateElement: (node) => checkText(node, node.value.raw),
    };
  },
};

export const serviceClock = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      machine:
        'This is the clock of one machine. Use the time of the transaction (tx.now), database.now() or the injected Clock; to measure a duration, use performance.now().',
    },
  },
  create(context) {
    const reportCall = (node) => context.report({ node, messageId: 'machine' });
    return {
      'CallExpression[callee.object.name="Date"][callee.property.name="now"]': reportCall,
      'NewExpression[callee.name="Date"][arguments.length=0]': reportCall,
    };
  },
};
