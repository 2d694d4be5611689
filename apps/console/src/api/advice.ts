/** Advice for the user about an error, by its code. */
const advice: Record<string, string> = {
  model_not_configured:
    'An admin can choose a language model in the settings, or the service’s operator can set one with ' +
    'MODEL_BASE_URL, MODEL_NAME and MODEL_API_KEY.',
  model_failed:
    'The language model did not return a usable response. Try again. If this persists, check the model’s provider.',
  billing_gate_closed:
    'The organization has reached a monthly limit or is suspended. An admin can see and raise the limits in the ' +
    'settings.',
  agent_not_ready: 'Start the machine, or allow it to be woken for work in the settings.',
  execution_timeout: 'The execution took longer than its time limit and was stopped. Run it again with a higher limit.',
  imaging_unavailable:
    'The worker lacks Pillow. Install it on the machine (Debian: apt-get install python3-pil) and reboot the agent.',
  browser_unavailable:
    'The worker did not find Chromium. Install it on the machine, or set CHROMIUM to its path, and reboot the agent.',
  frames_unavailable:
    'The worker did not find ffmpeg, which extracts the images of a video. Install it on the machine.',
  recording_too_long: 'A video can be up to one hour long. Record a shorter one.',
  recording_unreadable: 'The video is damaged, or ffmpeg does not support its format. Use another video.',
  no_steps_found: 'No step was recognized. Add a hint that describes what happens in the video.',
  patient_not_found:
    'No patient in the practice’s database matches. Try the image id (PATIMAGEID) or the chart number of the ' +
    'patient.',
  patient_ambiguous: 'Several patients match. Use the image id (PATIMAGEID) or the chart number of the patient.',
  path_not_allowed:
    'The worker is not allowed to read this folder. Choose another folder, or add it to IMAGING_ALLOWED_ROOTS on ' +
    'the machine.',
  no_image_converted: 'None of the images could be converted. The list shows the reason for each image.',
  sso_required: 'Choose “Continue with single sign-on”.',
  not_found: 'The file does not exist. Check its name and folder.',
  not_a_tiff: 'The file is not a TIFF image.',
  damaged: 'The file is truncated, or its content is corrupt.',
  unsupported: 'This kind of image cannot be converted.',
  image_too_large: 'The image has more than 100 megapixels, or is larger than 256 MiB.',
  upload_failed: 'The upload to the object store failed. Try again.',
  limit_reached:
    'The session has reached one of its limits, such as its number of steps or its cost. Start a new session with a ' +
    'higher limit.',
};

export function getAdvice(code: string | null | undefined): string | undefined {
  return code ? advice[code] : undefined;
}
