import type { Question } from '@muster/sdk';
import type { Command } from '../frame/command';
import { usageFault } from '../frame/failure';
import { inLine } from '../output/plain';
import { ago } from '../output/words';
import { readSecret } from '../parts/input';

const list: Command = {
  words: 'questions',
  summary: 'What runs wait for people with',
  options: {
    all: { type: 'boolean', about: 'those that are over too' },
    mine: { type: 'boolean', about: 'only what you may answer' },
  },
  async run(call) {
    const open = call.flag('all') ? {} : { status: 'open' as const };
    call.terminal.table(
      await call
        .muster()
        .questions.list({ ...open, mine: call.flag('mine'), limit: 200 })
        .toArray(),
      [
        { title: 'QUESTION', of: ({ question }) => inLine(question) },
        { title: 'KIND', of: ({ kind, choices }) => (choices ? choices.join(' | ') : kind) },
        { title: 'STATUS', of: ({ status }) => status },
        { title: 'UNTIL', of: ({ expiresAt }) => ago(expiresAt) },
        { title: 'ID', of: ({ id }) => id },
      ],
      'No run waits for anybody.',
    );
  },
};

const answer: Command = {
  words: 'answer',
  args: '<question> [answer]',
  summary: 'Answers what a run waits for; a code comes from stdin, or is typed unseen',
  more: 'A form is answered with JSON: {"npi": "1234567893"}. A confirmation with yes or no.',
  options: {
    decline: { type: 'boolean', about: 'nobody will answer it' },
    reason: { type: 'string', value: 'TEXT', about: 'why it is declined' },
  },
  async run(call) {
    const { args, terminal } = call;
    const { questions } = call.muster();
    const id = args[0]!;
    if (call.flag('decline')) {
      terminal.show(await questions.decline(id, call.text('reason')), 'It is declined.');
      return;
    }
    const question = await questions.get(id);
    const given = args[1] ?? (await readSecret(terminal, `${inLine(question.question)} `));
    terminal.show(await questions.answer(id, answerOf(question, given)), 'It is answered, and the run goes on.');
  },
};

function answerOf({ kind }: Question, given: string): string | boolean | Record<string, unknown> {
  if (kind === 'confirm') {
    const yes = ['yes', 'y', 'true'].includes(given.toLowerCase());
    if (!yes && !['no', 'n', 'false'].includes(given.toLowerCase())) throw usageFault('Answer yes or no.');
    return yes;
  }
  if (kind !== 'form') return given;
  try {
    return JSON.parse(given) as Record<string, unknown>;
  } catch {
    throw usageFault('The answer to a form is a JSON object.');
  }
}

export const questionCommands = [list, answer];
