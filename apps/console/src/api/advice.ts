/** What to do about faults that somebody can do something about, by their codes. */
const advice: Record<string, string> = {
  model_not_configured:
    'An admin names a language model in the settings, or whoever runs the service sets MODEL_BASE_URL, MODEL_NAME and MODEL_API_KEY.',
  model_failed: 'The language model did not answer as it should. Try again; if it stays so, look at its provider.',
  billing_gate_closed:
    'A limit of the organization is used up, or it is suspended: an admin sees which in the settings.',
  agent_not_ready: 'Start the machine, or let it be woken for work in the settings.',
  execution_timeout: 'It exceeded its time limit and was stopped.',
  imaging_unavailable:
    'The worker lacks Pillow. Install it on the machine (Debian: apt-get install python3-pil) and reboot the agent.',
  browser_unavailable:
    'The worker found no Chromium. Install it on the machine, or name it in CHROMIUM, and reboot the agent.',
  frames_unavailable: 'The worker found no ffmpeg, which takes the pictures of a film. Install it on the machine.',
  recording_too_long: 'Films of up to an hour are read. Record a shorter one.',
  recording_unreadable: 'The film is damaged, or of a kind that ffmpeg does not know.',
  no_steps_found: 'No step was recognized. A hint that says what is done in the film helps.',
  patient_not_found: 'Nobody of the practice’s database fits. Try the PATIMAGEID, or the chart number.',
  patient_ambiguous: 'Several fit. The PATIMAGEID or the chart number says which one.',
  path_not_allowed: 'The folder lies outside of what the worker may read (IMAGING_ALLOWED_ROOTS).',
  no_image_converted: 'None of them could be converted: each says why.',
  not_found: 'It is not there.',
  not_a_tiff: 'It holds no TIFF.',
  damaged: 'It ends too early, or its content is broken.',
  unsupported: 'It is of a kind that cannot be converted.',
  image_too_large: 'It has more than 100 megapixels, or 256 MiB.',
  upload_failed: 'It could not be sent to the object store. Try again.',
  limit_reached: 'A limit that it was given is used up. Begin a new session with a higher one.',
};

export function adviceOn(code: string | null | undefined): string | undefined {
  return code ? advice[code] : undefined;
}
