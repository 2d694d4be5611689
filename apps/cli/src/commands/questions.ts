import type { Question } from '@muster/sdk';
import type { Command } from '../frame/command';
import { createUsageError } from '../frame/failure';
import { toSafeLine } from '../output/plain';
import { formatRelativeTime } from '../output/words';
import { readSecret } from '../parts/input';

const answeredBy = {
  title: 'ANSWERED BY',
  cell: ({ answeredBy: answerer }: Question) => toSafeLine(answerer?.email ?? answerer?.name ?? ''),
};

const list: Command = {
  words: 'questions',
  summary: 'List questions of runs that wait for a person',
  options: {
    all: { type: 'boolean', about: 'Include questions that are answered, declined or expired' },
    mine: { type: 'boolean', about: 'Only questions that you are allowed to answer' },
  },
  async runCommand(call) {
    const open = call.flag('all') ? {} : { status: 'open' as const };
    call.terminal.printTable(
      await call
        .muster()
        .questions.list({ ...open, mine: call.flag('mine'), limit: 200 })
        .toArray(),
      [
        { title: 'QUESTION', cell: ({ question }) => toSafeLine(question) },
        { title: 'KIND', cell: ({ kind, choices }) => (choices ? choices.join(' | ') : kind) },
        { title: 'STATUS', cell: ({ status }) => status },
        ...(call.flag('all') ? [answeredBy] : []),
        { title: 'UNTIL', cell: ({ expiresAt }) => formatRelativeTime(expiresAt) },
        { title: 'ID', cell: ({ id }) => id },
      ],
      'There are no matching questions.',
    );
  },
};

const answer: Command = {
  words: 'answer',
  args: '<question> [answer]',
  summary: 'Answer or decline a question of a run',
  more:
    'Without an answer argument, the answer is read from stdin, or typed without being displayed. Answer a ' +
    'confirmation with yes or no. Answer a form with a JSON object such as {"npi": "1234567893"}.',
  options: {
    decline: { type: 'boolean', about: 'Decline the question' },
    reason: { type: 'string', value: 'TEXT', about: 'Reason for declining' },
  },
  async runCommand(call) {
    const { args, terminal } = call;
    const { questions } = call.muster();
    const id = args[0]!;
    if (call.flag('decline')) {
      terminal.printResult(await questions.decline(id, call.text('reason')), 'The question is declined.');
      return;
    }
    const question = await questions.get(id);
    const input = args[1] ?? (await readSecret(terminal, `${toSafeLine(question.question)} `));
    terminal.printResult(
      await questions.answer(id, parseAnswer(question, input)),
      'The question is answered. The run continues.',
    );
  },
};

function parseAnswer({ kind }: Question, input: string): string | boolean | Record<string, unknown> {
  if (kind === 'confirm') {
    const yes = ['yes', 'y', 'true'].includes(input.toLowerCase());
    if (!yes && !['no', 'n', 'false'].includes(input.toLowerCase()))
      throw createUsageError('The answer to a confirmation must be yes or no.');
    return yes;
  }
  if (kind !== 'form') return input;
  try {
    return JSON.parse(input) as Record<string, unknown>;
  } catch {
    throw createUsageError('The answer to a form must be a JSON object.');
  }
}

export const questionCommands = [list, answer];
