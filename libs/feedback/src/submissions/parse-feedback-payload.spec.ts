import { parseFeedbackPayload } from './parse-feedback-payload';

describe('the payload of a feedback report', () => {
  const parse = (bytes: number) => {
    const text = JSON.stringify({ type: 'feature_request', title: 'A list', description: 'A long list' });
    return parseFeedbackPayload(text.padEnd(bytes, ' '));
  };

  it('a payload of 64 KiB is accepted, and a larger one is refused', async () => {
    expect(await parse(64 * 1024)).toMatchObject({ title: 'A list' });
    await expect(parse(64 * 1024 + 1)).rejects.toMatchObject({ code: 'payload_too_large' });
  });
});
