// This test is long because it opens pages in a browser.
// A short test of the same code: apps/standalone/src/video-analyze.spec.ts
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeModel, waitFor } from '@muster/testing';
import { ConsoleFixture, describeInBrowser } from './console-fixture';
import { findDisplayFaults, makeHostileText } from './strange-content';

jest.setTimeout(300_000);

const itReadsVideos = spawnSync('ffmpeg', ['-version']).status === 0 ? it : it.skip;

describeInBrowser('steps that a model read from a video', () => {
  let fixture: ConsoleFixture;
  let model: FakeModel;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'muster-video-'));
    model = await FakeModel.start();
    fixture = await ConsoleFixture.startOwnService(model.environment);
  });
  afterAll(async () => {
    await fixture?.end();
    await model?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const makeVideo = () => {
    const file = join(folder, 'video.mkv');
    const colors = ['red', 'blue'].flatMap((color) => ['-f', 'lavfi', '-i', `color=c=${color}:s=320x240:d=1:r=5`]);
    const made = spawnSync('ffmpeg', [...colors, '-filter_complex', 'concat=n=2:v=1', '-c:v', 'mpeg4', file]);
    expect(made.status).toBe(0);
    return readFileSync(file);
  };

  itReadsVideos(
    'hostile texts of a model in steps of a video run no code, reverse no text and overflow no page',
    async () => {
      const api = await fixture.createApiClient();
      const { id: agentId } = (await api.get('/api/agents')).body.agents[0];
      const readAgentStatus = async () => (await api.get(`/api/agents/${agentId}`)).body.status;
      await waitFor('the agent to be online', async () => (await readAgentStatus()) === 'online', 60_000);
      const video = makeVideo();
      const { body } = await api.post('/api/uploads', { contentType: 'video/x-matroska', size: video.length });
      await fetch(body.uploadUrl, { method: body.method, headers: body.headers, body: video });
      const step = {
        ...{ type: 'click', title: makeHostileText('Title'), url: '', selectors: [makeHostileText('aria/Selector')] },
        ...{ value: makeHostileText('Value'), atMs: 1000, frame: 1, confidence: 0.4 },
      };
      model.addResponses({
        json: { steps: [step, { ...step, type: 'change', title: `${makeHostileText('Other')}${'W'.repeat(400)}` }] },
      });
      const path = `/api/agents/${agentId}/video-analyze`;
      const { analysisId } = (await api.post(path, { uploadKey: body.uploadKey, name: makeHostileText('Video') })).body;
      const analysis = await waitFor(
        'the analysis to end',
        async () => {
          const { body: state } = await api.get(`${path}?analysisId=${analysisId}`);
          return ['completed', 'failed'].includes(state.status) && state;
        },
        90_000,
      );
      expect([analysis.status, analysis.error ?? null]).toEqual(['completed', null]);
      for (const width of [1440, 390]) {
        const tab = await fixture.openSignedInTab(`/app/workflows/${analysis.workflowId}`, { width });
        const confirm = tab.page.getByRole('button', { name: /^Confirm/ }).first();
        await confirm.waitFor();
        expect(await findDisplayFaults(tab)).toEqual([]);
        await confirm.click();
        await tab.page.getByText('confirmed by a person').first().waitFor();
        expect(await findDisplayFaults(tab)).toEqual([]);
        expect(tab.complaints).toEqual([]);
        await tab.close();
      }
      expect(model.faults).toEqual([]);
    },
  );
});
