import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Question } from '@muster/sdk';
import { HttpClient, waitFor } from '@muster/testing';
import { createExampleData, openPracticeOrganization, type Practice, removeAllAgents } from '../shared-service';
import { CliFixture, type CommandOutput } from './cli-fixture';

jest.setTimeout(240_000);

const script = `import muster
answers = [
    muster.ask("Which payer?", kind="choice", choices=["Cigna", "Aetna"]),
    muster.ask("Send it?", kind="confirm"),
    muster.ask("Code from the phone", kind="code"),
    muster.ask("Provider", kind="form", fields=[{"name": "npi", "label": "NPI"}]),
]
answers[2] = len(answers[2])
try:
    muster.ask("Anything else?", kind="text")
except muster.NotAnswered as error:
    answers.append("declined" if "no phone here" in str(error) else str(error))
muster.result(answers)
`;

describe('the commands for questions', () => {
  let folder: string;
  let practice: Practice;
  let api: HttpClient;
  let cli: CliFixture;
  let jobId: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'muster-cli-questions-'));
    practice = await openPracticeOrganization();
    await createExampleData(practice.api);
    api = new HttpClient(practice.address).withKey(practice.apiKey);
    cli = await CliFixture.createFixture(folder);
    const body = { name: 'Asks', description: '', variables: [], script };
    const workflow = await practice.api.post('/api/workflows', body);
    const { agents } = (await api.get('/api/agents')).body;
    const launch = { workflowId: workflow.body.id, agentId: agents[0].id };
    ({ jobId } = (await api.post('/api/jobs/launch', launch)).body);
  });
  afterAll(async () => {
    await removeAllAgents(practice.api);
    await rm(folder, { recursive: true, force: true });
  });

  const runCliWithInput = (args: string[], input = ''): Promise<CommandOutput> =>
    cli.runCli(args, { input, env: { MUSTER_URL: practice.address, MUSTER_API_KEY: practice.apiKey } });
  /** Returns the open question with this text, once the run has asked it. */
  const waitForQuestion = (text: string): Promise<Question> =>
    waitFor(
      text,
      async () => {
        const { code, out } = await runCliWithInput(['questions', '--mine', '--json']);
        expect(code).toBe(0);
        return (JSON.parse(out) as Question[]).find(({ question }) => question === text);
      },
      60_000,
    ) as Promise<Question>;
  const answered = { code: 0, out: 'The question is answered. The run continues.\n' };

  it('the command line lists open questions and answers each kind of them, and declines one', async () => {
    const choice = await waitForQuestion('Which payer?');
    const listed = (await runCliWithInput(['questions'])).out;
    for (const text of ['Which payer?', 'Cigna | Aetna', 'open', choice.id]) expect(listed).toContain(text);
    expect(await runCliWithInput(['answer', choice.id, 'Delta'])).toMatchObject({ code: 2, out: '' });
    expect(await runCliWithInput(['answer', choice.id, 'Cigna'])).toMatchObject(answered);
    expect(await runCliWithInput(['answer', choice.id, 'Aetna'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('The question has an answer already'),
    });

    const confirm = await waitForQuestion('Send it?');
    expect(await runCliWithInput(['answer', confirm.id, 'perhaps'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('must be yes or no'),
    });
    expect(await runCliWithInput(['answer', confirm.id, 'No'])).toMatchObject(answered);

    // A code comes from stdin, so that it is in no list of processes and in no history of a shell.
    const code = await waitForQuestion('Code from the phone');
    expect(await runCliWithInput(['answer', code.id], '482913\n')).toMatchObject(answered);

    const form = await waitForQuestion('Provider');
    expect(await runCliWithInput(['answer', form.id, 'npi=1'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('must be a JSON object'),
    });
    expect(await runCliWithInput(['answer', form.id, '{"npi": "1234567893"}'])).toMatchObject(answered);

    const text = await waitForQuestion('Anything else?');
    expect(await runCliWithInput(['answer', text.id, '--decline', '--reason', 'no phone here'])).toMatchObject({
      code: 0,
      out: 'The question is declined.\n',
    });
    const job = await waitFor('the end of the run', async () => {
      const { body } = await api.get(`/api/jobs/${jobId}`);
      return body.finishedAt !== null && body;
    });
    expect(job).toMatchObject({
      status: 'completed',
      result: ['Cigna', false, 6, { npi: '1234567893' }, 'declined'],
    });
    expect(await runCliWithInput(['questions'])).toMatchObject({ code: 0, out: '' });
    const all = (await runCliWithInput(['questions', '--all'])).out;
    expect(all.match(/\banswered\b/g)).toHaveLength(4);
    expect([all.includes('cancelled'), all.includes('Tests'), all.includes('482913')]).toEqual([true, true, false]);
  });
});
