import { FeedbackForm, invalidFieldError } from '@muster/contracts';
import { maxScreenshotBytes, parseFeedbackPayload, reencodeScreenshot, type Screenshot } from '@muster/feedback';
import { checkBody, type FormOrJson } from '@muster/platform';

/** Reads the report and its screenshot from the form. */
export async function readFeedbackForm(input: FormOrJson) {
  const { fields, file } = await input.readForm({ file: 'screenshot', maxFileBytes: maxScreenshotBytes }, readBytes);
  // Only the names of the fields are checked here. `parseFeedbackPayload` checks the whole payload and its size in
  // bytes.
  checkBody(FeedbackForm, { ...fields, ...('payload' in fields ? { payload: fields['payload'].slice(0, 1) } : {}) });
  const report = await parseFeedbackPayload(fields['payload']!);
  // A browser sends an empty file if the user has chosen no image.
  if (!file || (!file.filename && file.content.length === 0)) return { report, screenshot: null };
  if (report.type === 'workflow_issue_report') {
    throw invalidFieldError('screenshot', 'a workflow_issue_report has no screenshot');
  }
  const screenshot: Screenshot = await reencodeScreenshot(file.content);
  return { report, screenshot };
}

async function readBytes(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const chunk of chunks) pieces.push(chunk);
  return Buffer.concat(pieces);
}
