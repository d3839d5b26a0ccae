// What has this user not been shown? client URL USER [TOKEN]
#include <curl/curl.h>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

class ExposureClient {
 public:
  ExposureClient(std::string url, std::string token) : url_(std::move(url)), token_(std::move(token)) {
    if (!curl_) throw std::runtime_error("curl_easy_init failed");
  }

  // Reports items; when this returns they are durable, and the next filter knows them.
  void report(const std::string& user, const std::string& kind, const std::vector<std::string>& items) {
    post("/exposures", "application/json",
         "{\"user\":" + quote(user) + ",\"kind\":\"" + kind + "\",\"items\":" + array(items) + "}");
  }

  // Asks in JSON and returns the JSON answer: {"items":[...],"dropped":n}.
  std::string filter(const std::string& user, const std::vector<std::string>& items) {
    return post("/filter", "application/json",
                "{\"user\":" + quote(user) + ",\"items\":" + array(items) + "}");
  }

  // The cheap way: the answer is a bitmap.
  std::vector<int64_t> filterBits(const std::string& user, const std::vector<int64_t>& ids) {
    std::string items;
    for (int64_t id : ids) items += (items.empty() ? "" : ",") + std::to_string(id);
    std::string bitmap = post("/filter", "application/octet-stream",
                              "{\"user\":" + quote(user) + ",\"items\":[" + items + "]}");
    std::vector<int64_t> unseen;
    for (size_t i = 0; i < ids.size(); i++)
      if (static_cast<unsigned char>(bitmap.at(i >> 3)) >> (i & 7) & 1) unseen.push_back(ids[i]);
    return unseen;
  }

 private:
  static std::string quote(const std::string& s) {
    std::string q = "\"";
    for (char c : s) (c == '"' || c == '\\') ? (q += '\\', q += c) : q += c;
    return q + "\"";
  }
  static std::string array(const std::vector<std::string>& items) {
    std::string a = "[";
    for (const auto& i : items) a += (a.size() > 1 ? "," : "") + quote(i);
    return a + "]";
  }
  static size_t collect(char* data, size_t size, size_t n, void* out) {
    static_cast<std::string*>(out)->append(data, size * n);
    return size * n;
  }

  std::string post(const std::string& path, const std::string& accept, const std::string& body) {
    CURL* c = curl_.get();  // one handle keeps its connection open from call to call
    std::string answer, full = url_ + path;
    curl_slist* raw = curl_slist_append(nullptr, "Content-Type: application/json");
    raw = curl_slist_append(raw, ("Accept: " + accept).c_str());
    raw = curl_slist_append(raw, "Expect:");  // do not wait for 100 Continue
    if (!token_.empty()) raw = curl_slist_append(raw, ("Authorization: Bearer " + token_).c_str());
    std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(raw, curl_slist_free_all);
    curl_easy_setopt(c, CURLOPT_URL, full.c_str());
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &answer);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, 5000L);
    if (CURLcode rc = curl_easy_perform(c)) throw std::runtime_error(curl_easy_strerror(rc));
    long status = 0;
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 300) throw std::runtime_error(std::to_string(status) + " " + answer);  // a problem, RFC 9457
    return answer;
  }

  std::string url_, token_;
  std::unique_ptr<CURL, void (*)(CURL*)> curl_{curl_easy_init(), curl_easy_cleanup};
};

int main(int argc, char** argv) try {
  if (argc < 3) throw std::runtime_error("usage: client URL USER [TOKEN]");
  ExposureClient client(argv[1], argc > 3 ? argv[3] : "");
  client.report(argv[2], "seen", {"1001", "1003", "caf\u00e9/\u4e2d\u6587"});
  std::cout << client.filter(argv[2], {"1001", "1002", "caf\u00e9/\u4e2d\u6587", "new"}) << "\n[";
  const char* comma = "";
  for (int64_t id : client.filterBits(argv[2], {1001, 1002, 1003, 1004})) std::cout << comma << id, comma = ", ";
  std::cout << "]\n";
} catch (const std::exception& e) {
  std::cerr << e.what() << "\n";
  return 1;
}
